//! The few calls to the kernel that need `unsafe` or differ by platform. Nothing else in this crate is unsafe.

#[cfg(unix)]
mod unix {
    use std::{io, io::PipeWriter, sync::Arc};

    use rustix::process::{Pid, Signal, kill_process, test_kill_process};
    use tokio::process::Command;

    /// Makes the child of `command` write `+<its pid>\n` into `link` after the fork and before the exec.
    #[allow(unsafe_code)]
    pub fn register_in_child(command: &mut Command, link: Arc<PipeWriter>) {
        let register = move || {
            let mut line = [0_u8; 16];
            let start = write_line(
                &mut line,
                rustix::process::getpid()
                    .as_raw_nonzero()
                    .get()
                    .unsigned_abs(),
            );
            // One write of less than PIPE_BUF is never split. Without a supervisor the child runs all the same.
            let _ = rustix::io::write(&*link, &line[start..]);
            Ok::<(), io::Error>(())
        };
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure calls getpid and write,
        // formats into an array on its stack, allocates nothing, takes no lock and drops nothing.
        unsafe {
            command.pre_exec(register);
        }
    }

    /// Writes `+<pid>\n` at the end of `line` without allocating; answers where it starts.
    pub(super) fn write_line(line: &mut [u8; 16], mut pid: u32) -> usize {
        let mut at = line.len() - 1;
        line[at] = b'\n';
        loop {
            at -= 1;
            line[at] = b'0' + (pid % 10) as u8;
            pid /= 10;
            if pid == 0 {
                break;
            }
        }
        at -= 1;
        line[at] = b'+';
        at
    }

    /// From here on the signals that end a terminal's or a service's processes leave this one alone.
    #[allow(unsafe_code)]
    pub fn ignore_endings() {
        for signal in [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGPIPE,
        ] {
            // SAFETY: setting a disposition to SIG_IGN installs no handler, so no code of ours runs in a signal.
            unsafe {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }

    fn pid(pid: u32) -> Option<Pid> {
        i32::try_from(pid).ok().and_then(Pid::from_raw)
    }

    pub fn stop(process: u32) {
        if let Some(pid) = pid(process) {
            let _ = kill_process(pid, Signal::STOP);
        }
    }

    pub fn kill(process: u32) {
        if let Some(pid) = pid(process) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Whether a process of this number is there (one that is not ours counts).
    pub fn exists(process: u32) -> bool {
        pid(process).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
    }

    /// Whether anyone is left in the group of this number.
    pub fn group_exists(group: u32) -> bool {
        pid(group).is_some_and(|pid| {
            rustix::process::test_kill_process_group(pid) != Err(rustix::io::Errno::SRCH)
        })
    }
}

#[cfg(unix)]
pub use unix::{exists, group_exists, ignore_endings, kill, register_in_child, stop};

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn a_registration_is_one_line() {
        for pid in [1_u32, 9, 10, 4_194_304, i32::MAX.unsigned_abs()] {
            let mut line = [0; 16];
            let start = super::unix::write_line(&mut line, pid);
            assert_eq!(
                std::str::from_utf8(&line[start..]),
                Ok(format!("+{pid}\n").as_str())
            );
        }
    }
}
