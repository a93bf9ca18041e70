//! The report as a person reads it: what matters to the folder first, the rest in a line.

use std::fmt;

use super::report::{Language, Local, Provider, Report, Server, Start};
use crate::config::Reading;

/// Lists of names are broken here.
const WIDTH: usize = 96;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "copydesk {} in {}",
            self.version,
            self.directory.display()
        )?;
        self.configuration(f)?;
        self.model(f)?;
        self.servers(f)?;
        self.closing(f)
    }
}

impl Report {
    fn configuration(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nconfiguration")?;
        let rows = self.configuration.files.iter().map(|file| {
            let state = match file.state {
                Reading::Read => "ok",
                Reading::Absent => "none",
                Reading::Unusable => "unusable",
            };
            vec![state.to_owned(), file.path.display().to_string()]
        });
        table(f, rows.collect())?;
        for warning in &self.configuration.warnings {
            writeln!(f, "  ! {warning}")?;
        }
        Ok(())
    }

    fn model(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = &self.model;
        writeln!(f, "\nmodel")?;
        let state = if model.ok { "ok" } else { "unusable" };
        writeln!(f, "  {state}  {}", model.name)?;
        if let Some(problem) = &model.problem {
            writeln!(f, "  ! {problem}")?;
        }
        let say = |provider: &Provider| {
            let key = match (provider.key, &provider.variable) {
                ("set", Some(variable)) => format!("its key is in {variable}"),
                ("set", None) => "its key is set".to_owned(),
                ("command", _) => "its key is printed by api_key_command".to_owned(),
                ("keyring", _) => "its key is in the keyring".to_owned(),
                ("missing", _) => "no key".to_owned(),
                _ => "needs no key".to_owned(),
            };
            format!("{} ({key})", provider.name)
        };
        names(f, "providers: ", model.providers.iter().map(say))?;
        for server in &model.local {
            local(f, server)?;
        }
        Ok(())
    }

    fn servers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nlanguage servers for this folder")?;
        if self.languages.is_empty() {
            writeln!(f, "  none: it has no files of a language that is known")?;
        }
        let rows = self.languages.iter().map(|one| self.row(one));
        table(f, rows.collect())?;
        for (server, start) in self.not_started() {
            let reason = start.reason.as_deref().unwrap_or_default();
            writeln!(f, "  ! {} does not start: {reason}", server.name)?;
            for line in &start.said {
                writeln!(f, "      {line}")?;
            }
        }
        let others = |state: &'static str| {
            self.language_servers
                .iter()
                .filter(move |server| server.state == state && !self.is_shown(server))
        };
        let found = |server: &Server| match &server.version {
            Some(version) => format!("{} {version}", server.name),
            None => server.name.clone(),
        };
        writeln!(f)?;
        names(f, "also installed: ", others("found").map(found))?;
        // What is wrong with a command that was configured stands with the configuration.
        let is_told = |server: &&Server| {
            let key = format!("`language_servers.{}.command`", server.name);
            let mut warnings = self.configuration.warnings.iter();
            warnings.any(|warning| warning.contains(&key))
        };
        for server in others("unusable").filter(|server| !is_told(server)) {
            let reason = server.reason.as_deref().unwrap_or_default();
            writeln!(f, "  ! {}: {reason}", server.name)?;
        }
        let name = |server: &Server| server.name.clone();
        names(f, "switched off: ", others("disabled").map(name))?;
        names(f, "not installed: ", others("missing").map(name))
    }

    fn not_started(&self) -> impl Iterator<Item = (&Server, &Start)> {
        let tried = self
            .language_servers
            .iter()
            .filter_map(|server| Some((server, server.start.as_ref()?)));
        tried.filter(|(_, start)| !start.ok)
    }

    fn is_shown(&self, server: &Server) -> bool {
        self.languages.iter().any(|one| one.server == server.name)
    }

    fn row(&self, one: &Language) -> Vec<String> {
        let server = self.server(&one.server);
        let state = match server.map_or("", |server| server.state) {
            "found"
                if self
                    .not_started()
                    .any(|(server, _)| server.name == one.server) =>
            {
                "fails"
            }
            "found" => "ok",
            "unusable" => "unusable",
            "disabled" => "off",
            _ if one.is_needed => "missing",
            _ => "optional",
        };
        let files = if one.files == 1 { "file" } else { "files" };
        let version = server.and_then(|server| server.version.as_deref());
        let name = match version {
            Some(version) => format!("{} {version}", one.server),
            None => one.server.clone(),
        };
        let what = server.map(
            |server| match (&server.path, &server.reason, &server.install) {
                (Some(path), ..) => match &server.start {
                    Some(start) if start.ok => {
                        format!("{}  (starts in {:.1} s)", path.display(), start.seconds)
                    }
                    _ => path.display().to_string(),
                },
                (None, Some(reason), _) if server.is_misconfigured() => reason.clone(),
                (None, Some(reason), Some(install)) => format!("{install}  ({reason})"),
                _ if server.state == "disabled" => "switched off by the configuration".to_owned(),
                (None, None, Some(install)) => install.clone(),
                (None, reason, None) => reason.clone().unwrap_or_default(),
            },
        );
        vec![
            state.to_owned(),
            format!("{} ({} {files})", one.name, one.files),
            name,
            what.unwrap_or_default(),
        ]
    }

    fn closing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ok {
            return writeln!(f, "\nAll that this folder needs is there.");
        }
        writeln!(f, "\nTo do:")?;
        let files = self.configuration.files.iter();
        for file in files.filter(|file| file.state == Reading::Unusable) {
            writeln!(f, "  mend {}", file.path.display())?;
        }
        if let Some(problem) = &self.model.problem {
            writeln!(f, "  {problem}")?;
        }
        // It is there: nothing is to be installed.
        let not_started = self.not_started().map(|(server, _)| server.name.as_str());
        let mut done: Vec<&str> = not_started.collect();
        for one in self.languages.iter().filter(|one| one.is_needed && !one.ok) {
            if done.contains(&one.server.as_str()) {
                continue;
            }
            done.push(&one.server);
            let server = self.server(&one.server);
            match server.and_then(|server| server.install.as_deref()) {
                Some(install) if server.is_some_and(Server::is_misconfigured) => writeln!(
                    f,
                    "  mend `language_servers.{}.command`, or take it out and {install}",
                    one.server
                )?,
                Some(install) => writeln!(f, "  {install}")?,
                None => writeln!(f, "  mend [language_servers.{}]", one.server)?,
            }
        }
        for (server, _) in self.not_started() {
            writeln!(f, "  find out why {} does not start", server.name)?;
        }
        Ok(())
    }
}

impl Server {
    /// It can't be run because of what the configuration says, whether or not it is installed.
    fn is_misconfigured(&self) -> bool {
        self.state == "unusable" && self.configured_at.is_some()
    }
}

/// Rows in columns, two spaces apart.
fn table(f: &mut fmt::Formatter<'_>, rows: Vec<Vec<String>>) -> fmt::Result {
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let room = width(column);
            line.push_str(&format!("  {cell:room$}"));
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A model server that runs here, with its models as they can be chosen.
fn local(f: &mut fmt::Formatter<'_>, server: &Local) -> fmt::Result {
    let Local { name, provider, .. } = server;
    // What doesn't say what it is can be told by its address alone.
    let place = match *name {
        "a server" => format!(", at {}", server.base_url),
        _ => String::new(),
    };
    let models = server.models.iter();
    names(
        f,
        &format!("{name} runs here{place}: "),
        models.map(|model| format!("{provider}/{model}")),
    )
}

/// Names with commas between them, in lines of a bearable length; nothing if there are none.
fn names(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    names: impl Iterator<Item = String>,
) -> fmt::Result {
    let mut line = format!("  {title}");
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Ok(());
    }
    let mut is_first = true;
    while let Some(name) = names.next() {
        let comma = if names.peek().is_some() { "," } else { "" };
        if !is_first && line.chars().count() + name.chars().count() + 2 > WIDTH {
            writeln!(f, "{line}")?;
            line.clear();
            line.push_str("   ");
        }
        if !is_first {
            line.push(' ');
        }
        is_first = false;
        line.push_str(&name);
        line.push_str(comma);
    }
    writeln!(f, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shown(Local);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            local(f, &self.0)
        }
    }

    #[test]
    fn a_model_server_that_runs_here_is_told_as_it_can_be_used() {
        let shown = |name, provider: &str, models: &[&str]| {
            let local = Local {
                name,
                provider: provider.to_owned(),
                base_url: "http://localhost:8080/v1".to_owned(),
                models: models.iter().map(|&model| model.to_owned()).collect(),
            };
            Shown(local).to_string()
        };
        assert_eq!(
            shown("Ollama", "ollama", &["qwen3-coder:30b", "gpt-oss:20b"]),
            "  Ollama runs here: ollama/qwen3-coder:30b, ollama/gpt-oss:20b\n"
        );
        assert_eq!(
            shown("a server", "llamacpp", &["qwen.gguf"]),
            "  a server runs here, at http://localhost:8080/v1: llamacpp/qwen.gguf\n"
        );
    }
}
