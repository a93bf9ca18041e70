//! The same small project in five languages: an interface and its implementation in two files, a call from one to the other, one
//! type error in a third, one file that no formatter would leave so. Each says what is right to be answered about it.

mod cpp;
mod go;
mod python;
mod rust;
mod typescript;

pub use self::{cpp::CPP, go::GO, python::PYTHON, rust::RUST, typescript::TYPESCRIPT};

/// A project, and its places by what they are.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its files. `ROOT` in a text stands for the project's folder.
    pub files: &'static [(&'static str, &'static str)],
    /// The interface.
    pub shape: Spot,
    /// Its implementation, where it says so.
    pub implementation: Spot,
    /// The class that implements it.
    pub square: Spot,
    /// A variable of that class.
    pub value: Spot,
    /// The function that is called from another file.
    pub callee: Spot,
    /// The call.
    pub call: Spot,
    /// The import of the function, where the language has such.
    pub import: Option<Spot>,
    /// The function that calls.
    pub caller: Spot,
    /// The type error, and what its message has.
    pub wrong: (Spot, &'static str),
    /// A file before and after formatting.
    pub messy: (&'static str, &'static str),
    /// Where callers see the callee: itself, but in languages with headers.
    pub declared: Spot,
    /// What replaces the end of its parameters there when a third one is asked for.
    pub third_parameter: (&'static str, &'static str),
}

/// A place that outlives changes: a word in a line that is told by a text that it alone has.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub file: &'static str,
    /// The only occurrence in its file.
    pub text: &'static str,
    /// The word in it that is pointed at.
    pub word: &'static str,
}

const fn spot(file: &'static str, text: &'static str, word: &'static str) -> Spot {
    Spot { file, text, word }
}

impl Spot {
    /// Its line and character in this text, from 1.
    pub fn place(&self, text: &str) -> (u32, u32) {
        assert_eq!(text.matches(self.text).count(), 1, "{self:?} in {text}");
        let at = text.find(self.text).expect("counted");
        let at = at + self.text.find(self.word).expect("a word of it");
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let character = text[start..at].chars().count() + 1;
        let number = |number: usize| u32::try_from(number).expect("a small file");
        (number(line), number(character))
    }
}

#[test]
fn every_place_is_there_once() {
    for sample in [RUST, PYTHON, TYPESCRIPT, CPP, GO] {
        let text = |name: &str| {
            let file = sample.files.iter().find(|(file, _)| *file == name);
            file.unwrap_or_else(|| panic!("{name}")).1
        };
        let spots = [
            sample.shape,
            sample.implementation,
            sample.square,
            sample.value,
            sample.callee,
            sample.call,
            sample.caller,
            sample.declared,
            sample.wrong.0,
        ];
        for spot in spots.into_iter().chain(sample.import) {
            spot.place(text(spot.file));
        }
        let head = sample.third_parameter.0;
        let declared = text(sample.declared.file);
        assert_eq!(declared.matches(head).count(), 1, "{head}");
        assert_ne!(text(sample.messy.0), sample.messy.1);
    }
}
