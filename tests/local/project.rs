//! Projects with one error each, one file each in `projects`: what is wrong and where, the project, a solution, and a test of what
//! the program does. They say nothing of who can fix them, and are not changed to please one.

use std::path::Path;

use tests::fixtures;

/// The languages, each with its own checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    Python,
    TypeScript,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::Rust, Self::Python, Self::TypeScript];

    pub fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
        }
    }

    /// What each project of it has beside its own files.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Rust => &[(
                "Cargo.toml",
                "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
            )],
            Self::Python => &[(
                "pyproject.toml",
                "[project]\nname = \"sample\"\nversion = \"0.1.0\"\n",
            )],
            Self::TypeScript => &[
                ("package.json", "{ \"private\": true }\n"),
                (
                    "tsconfig.json",
                    r#"{
  "compilerOptions": {
    "target": "es2022",
    "module": "commonjs",
    "strict": true,
    "types": [],
    "rootDir": "src",
    "outDir": "out"
  },
  "include": ["src"]
}
"#,
                ),
            ],
        }
    }
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Project {
    pub name: String,
    pub language: Language,
    /// What is wrong, in words.
    pub what: String,
    /// The other file that tells what is right, or has to be changed.
    pub second_file: Option<String>,
    /// Where the error is: the file, and its line from 1.
    pub file: String,
    pub line: usize,
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    part: Part,
    path: String,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Project,
    Solution,
    Behaviour,
}

impl Project {
    /// All of them, by language and name.
    pub fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("local/projects");
        let mut all: Vec<Self> = std::fs::read_dir(folder)
            .expect("the projects")
            .map(|entry| Self::read(&entry.expect("a file").path()))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Language::ALL
            .iter()
            .flat_map(|language| all.iter().filter(|project| project.language == *language))
            .cloned()
            .collect()
    }

    fn read(path: &Path) -> Self {
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.expect("a name").to_owned();
        let text = std::fs::read_to_string(path).expect("a text");
        Self::parse(name, &text)
    }

    fn parse(name: String, text: &str) -> Self {
        let (head, rest) = text.split_once("\n=== ").expect("a head and files");
        let said = |key: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            let mut found = lines.filter(|(name, _)| *name == key);
            found.next().map(|(_, value)| value.to_owned())
        };
        let files: Vec<File> = rest.split("\n=== ").map(File::parse).collect();
        let fix = said("fix").expect("where the error is");
        let (file, at) = fix.split_once(": ").expect("a file and a part of its line");
        let wrong = files
            .iter()
            .find(|found| found.part == Part::Project && found.path == file)
            .expect("the file with the error");
        let mut lines = (1..)
            .zip(wrong.text.lines())
            .filter(|(_, line)| line.contains(at));
        let line = lines.next().map(|(line, _)| line).expect(at);
        assert!(lines.next().is_none(), "{name}: {at} is there twice");
        let language = match name.split('_').next() {
            Some("rust") => Language::Rust,
            Some("python") => Language::Python,
            Some("typescript") => Language::TypeScript,
            _ => panic!("{name} begins with no language"),
        };
        Self {
            language,
            what: said("what").expect("what is wrong"),
            second_file: said("second file"),
            file: file.to_owned(),
            line,
            files,
            name,
        }
    }

    /// Laid out as it is to be fixed.
    pub fn lay_out(&self) -> fixtures::Project {
        let project = fixtures::Project::with(self.language.files());
        self.lay(Part::Project, &project);
        project
    }

    /// Puts the solution over what is there.
    pub fn solve(&self, project: &fixtures::Project) {
        self.lay(Part::Solution, project);
    }

    /// Puts the test of what it does beside it.
    pub fn add_behaviour(&self, project: &fixtures::Project) {
        self.lay(Part::Behaviour, project);
    }

    fn lay(&self, part: Part, project: &fixtures::Project) {
        let files: Vec<&File> = self.files.iter().filter(|file| file.part == part).collect();
        assert!(!files.is_empty(), "{} has no {part:?}", self.name);
        for file in files {
            project.write(&file.path, &file.text);
        }
    }
}

impl File {
    fn parse(text: &str) -> Self {
        let (head, text) = text.split_once('\n').expect("a line that names the file");
        let (part, path) = head.split_once(' ').expect("a part and a path");
        let part = match part {
            "project" => Part::Project,
            "solution" => Part::Solution,
            "behaviour" => Part::Behaviour,
            _ => panic!("{head} is no part of a project"),
        };
        Self {
            part,
            path: path.to_owned(),
            text: format!("{}\n", text.trim_end()),
        }
    }
}

#[test]
fn there_are_enough_of_each_kind() {
    let all = Project::all();
    for language in Language::ALL {
        let of = |project: &&Project| project.language == language;
        assert!(all.iter().filter(of).count() >= 6, "{language:?}");
    }
    let two = all.iter().filter(|project| project.second_file.is_some());
    assert!(all.len() >= 18 && two.count() * 3 >= all.len());
    for project in &all {
        let of = |part: Part| move |file: &&File| file.part == part;
        let second = project.second_file.as_ref();
        let is_there = |path: &String| {
            let mut files = project.files.iter().filter(of(Part::Project));
            files.any(|file| file.path == *path) && *path != project.file
        };
        assert!(second.is_none_or(is_there), "{}", project.name);
    }
}
