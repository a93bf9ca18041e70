//! The table of processes, as far as ending a tree needs it: who is whose child, in which group, since when.
//! Linux reads `/proc`; other Unixes ask `ps`. It never sends a signal.

/// One live process.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    /// When it started, in the kernel's own measure: tells a process from a later one of the same number. 0: unknown.
    pub start: u64,
}

/// All live processes; zombies are left out.
#[cfg(target_os = "linux")]
pub fn entries() -> Vec<Entry> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(entry)
        .collect()
}

/// One process, if it lives.
#[cfg(target_os = "linux")]
pub fn entry(pid: u32) -> Option<Entry> {
    parse_stat(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state ppid pgrp session tty tpgid flags …`; the name may hold spaces and brackets, so from its end.
#[cfg(target_os = "linux")]
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Entry> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    Some(Entry {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// How many bytes these processes hold of their own, swapped out or not.
#[cfg(target_os = "linux")]
pub fn memory(pids: &[u32]) -> u64 {
    let of = |pid| std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    pids.iter()
        .map(|pid| {
            let status = of(pid);
            kilobytes(&status, "RssAnon:").unwrap_or(0) + kilobytes(&status, "VmSwap:").unwrap_or(0)
        })
        .sum::<u64>()
        << 10
}

/// The number in a line like `RssAnon:     123 kB`.
#[cfg(target_os = "linux")]
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// How many bytes of memory the machine has, or this group of processes may have.
#[cfg(target_os = "linux")]
pub fn machine_memory() -> Option<u64> {
    let all = kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")? << 10;
    let of_group = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|limit| limit.trim().parse::<u64>().ok());
    Some(of_group.map_or(all, |limit| limit.min(all)))
}

/// The same; not asked for elsewhere.
#[cfg(not(target_os = "linux"))]
pub fn machine_memory() -> Option<u64> {
    None
}

/// The mark in the environment that a process was started with.
#[cfg(target_os = "linux")]
pub fn mark(pid: u32) -> Option<String> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    environ.split(|&byte| byte == 0).find_map(|variable| {
        let value = variable
            .strip_prefix(super::MARKER.as_bytes())?
            .strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

/// Whether the environment that `pid` was started with holds `MARKER=<marker…>`.
#[cfg(target_os = "linux")]
pub fn is_marked(pid: u32, marker: &Marker) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ
            .split(|&byte| byte == 0)
            .any(|variable| marker.matches(variable))
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn entries() -> Vec<Entry> {
    let Ok(output) = std::process::Command::new("ps")
        .args(["-axo", "pid=,ppid=,pgid=,state="])
        .stderr(std::process::Stdio::null())
        .output()
    else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let mut number = || fields.next()?.parse::<u32>().ok();
            let (pid, parent, group) = (number()?, number()?, number()?);
            (!fields.next()?.starts_with('Z')).then_some(Entry {
                pid,
                parent,
                group,
                start: 0,
            })
        })
        .collect()
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn entry(pid: u32) -> Option<Entry> {
    entries().into_iter().find(|entry| entry.pid == pid)
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn memory(pids: &[u32]) -> u64 {
    let list: Vec<String> = pids.iter().map(u32::to_string).collect();
    let Ok(output) = std::process::Command::new("ps")
        .args(["-o", "rss=", "-p", &list.join(",")])
        .stderr(std::process::Stdio::null())
        .output()
    else {
        return 0;
    };
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .filter_map(|kilobytes| kilobytes.parse::<u64>().ok())
        .sum::<u64>()
        << 10
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn mark(_pid: u32) -> Option<String> {
    None
}

#[cfg(all(unix, not(target_os = "linux")))]
pub fn is_marked(_pid: u32, _marker: &Marker) -> bool {
    false
}

/// What to look for in an environment.
#[derive(Debug, Clone)]
pub enum Marker {
    /// One tree.
    Tree(String),
    /// Every tree of one owner.
    Owner(String),
}

impl Marker {
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    fn matches(&self, variable: &[u8]) -> bool {
        let Some(value) = variable
            .strip_prefix(super::MARKER.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
        else {
            return false;
        };
        match self {
            Self::Tree(marker) => value == marker.as_bytes(),
            Self::Owner(owner) => value
                .strip_prefix(owner.as_bytes())
                .is_some_and(|rest| rest.starts_with(b".")),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn stat_lines() {
        let tail = "1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        for (line, expected) in [
            (format!("7 (sh) S {tail}"), Some((1, 2, 777))),
            (format!("7 (a) b (c) R {tail}"), Some((1, 2, 777))),
            (format!("7 (sh) Z {tail}"), None),
            ("7 (sh) S 1".to_owned(), None),
            ("nonsense".to_owned(), None),
        ] {
            let found = parse_stat(7, line.as_bytes())
                .map(|entry| (entry.parent, entry.group, entry.start));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn sizes() {
        let status = "Name:\tx\nRssAnon:\t     123 kB\nRssFile:\t 9 kB\n";
        assert_eq!(kilobytes(status, "RssAnon:"), Some(123));
        assert_eq!(kilobytes(status, "VmSwap:"), None);
        let own = memory(&[std::process::id()]);
        let all = machine_memory().expect("Linux tells");
        assert!(own > 0 && own < all, "{own} of {all}");
        assert_eq!(memory(&[]), 0);
    }

    #[test]
    fn markers_match_whole_values() {
        let tree = Marker::Tree("a-1.2".into());
        let owner = Marker::Owner("a-1".into());
        for (variable, of_tree, of_owner) in [
            ("COPYDESK_TREE=a-1.2", true, true),
            ("COPYDESK_TREE=a-1.22", false, true),
            ("COPYDESK_TREE=a-11.2", false, false),
            ("COPYDESK_TREES=a-1.2", false, false),
            ("OTHER=a-1.2", false, false),
        ] {
            assert_eq!(tree.matches(variable.as_bytes()), of_tree, "{variable}");
            assert_eq!(owner.matches(variable.as_bytes()), of_owner, "{variable}");
        }
    }
}
