//! How many tokens a request has, before a provider has counted them: within a tenth over whole requests, from the kinds of characters
//! alone. What each kind comes to was fitted to real vocabularies (`tests/tokens` holds it against them).

use serde_json::Value;

use crate::{Block, Request};

/// A picture, wherever it is not known better.
const PICTURE: u64 = 1_500;
/// What every message costs for being one.
const MESSAGE: u64 = 4;

impl Request {
    /// About how many tokens it has, for most models.
    pub fn estimated_tokens(&self) -> u64 {
        self.estimated_tokens_for("")
    }

    /// About how many tokens it has for this model (`provider/model`): the same text is more to some than to others.
    pub fn estimated_tokens_for(&self, model: &str) -> u64 {
        let weights = Weights::of(model);
        let mut sum = Sum::new(weights);
        let mut more = 0;
        sum.add(&self.system);
        for tool in &self.tools {
            sum.add(&tool.name);
            sum.add(&tool.description);
            sum.json(&tool.schema);
        }
        for message in &self.messages {
            more += MESSAGE;
            for block in &message.blocks {
                match block {
                    Block::Text { text } => sum.add(text),
                    Block::Image(_) => more += PICTURE,
                    Block::Reasoning(thought) => sum.add(&thought.text),
                    Block::ToolCall(call) => {
                        sum.add(&call.name);
                        match &call.malformed {
                            Some(written) => sum.add(written),
                            None => sum.json(&call.input),
                        }
                    }
                    Block::ToolResult { output, .. } => sum.add(output),
                }
            }
        }
        sum.hundredths.div_ceil(100) + more
    }
}

/// What each thing in a text comes to, in hundredths of a token.
struct Weights {
    /// A word in Latin letters.
    word: u16,
    /// Each of its letters after the fourth.
    long: u16,
    /// A capital letter in its middle.
    camel: u16,
    /// A letter of it that is not ASCII.
    accent: u16,
    /// Up to three digits.
    digits: u16,
    /// Punctuation that stands together.
    signs: u16,
    /// Each sign of it after the first.
    more_signs: u16,
    /// Line ends that stand together.
    line: u16,
    /// Two blanks or more.
    blanks: u16,
    /// A letter of Cyrillic, and so on.
    cyrillic: u16,
    greek: u16,
    han: u16,
    kana: u16,
    hangul: u16,
    /// Of Arabic and Hebrew.
    semitic: u16,
    /// Of India and its neighbours.
    indic: u16,
    /// Anything else: symbols, emoji.
    other: u16,
}

/// OpenAI's `o200k_base`. Those of Qwen, Llama, DeepSeek and Mistral come to about as much for code and English.
const MOST: Weights = Weights {
    word: 106,
    long: 5,
    camel: 49,
    accent: 80,
    digits: 153,
    signs: 50,
    more_signs: 26,
    line: 84,
    blanks: 87,
    cyrillic: 37,
    greek: 50,
    han: 74,
    kana: 62,
    hangul: 71,
    semitic: 41,
    indic: 46,
    other: 151,
};

/// Anthropic's, which is not public, as others have made it out.
const CLAUDE: Weights = Weights {
    word: 122,
    long: 5,
    camel: 62,
    accent: 280,
    digits: 209,
    signs: 93,
    more_signs: 22,
    line: 94,
    blanks: 27,
    cyrillic: 70,
    greek: 147,
    han: 105,
    kana: 106,
    hangul: 131,
    semitic: 124,
    indic: 192,
    other: 300,
};

/// Google's, as it is public with Gemma 3.
const GEMINI: Weights = Weights {
    word: 99,
    long: 5,
    camel: 54,
    accent: 72,
    digits: 225,
    signs: 90,
    more_signs: 17,
    line: 104,
    blanks: 120,
    cyrillic: 33,
    greek: 50,
    han: 64,
    kana: 41,
    hangul: 67,
    semitic: 41,
    indic: 37,
    other: 300,
};

impl Weights {
    fn of(model: &str) -> &'static Self {
        let model = model.to_ascii_lowercase();
        let is = |name: &str| model.contains(name);
        match () {
            () if is("claude") => &CLAUDE,
            () if is("gemini") || is("gemma") => &GEMINI,
            () => &MOST,
        }
    }
}

/// What a character is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Capital,
    Digit,
    Sign,
    Line,
    Blank,
    /// It counts for itself, whatever stands beside it.
    Single,
}

/// The kinds of ASCII.
const ASCII: [Kind; 128] = {
    let mut kinds = [Kind::Sign; 128];
    let mut at = 0;
    while at < 128 {
        #[allow(clippy::cast_possible_truncation, reason = "it is below 128")]
        let byte = at as u8;
        kinds[at] = match byte {
            b'a'..=b'z' => Kind::Letter,
            b'A'..=b'Z' => Kind::Capital,
            b'0'..=b'9' => Kind::Digit,
            b' ' | b'\t' => Kind::Blank,
            b'\n' | b'\r' => Kind::Line,
            _ => Kind::Sign,
        };
        at += 1;
    }
    kinds
};

/// The tokens of some texts.
struct Sum {
    weights: &'static Weights,
    hundredths: u64,
}

impl Sum {
    fn new(weights: &'static Weights) -> Self {
        Self {
            weights,
            hundredths: 0,
        }
    }

    fn json(&mut self, value: &Value) {
        self.add(&serde_json::to_string(value).unwrap_or_default());
    }

    fn add(&mut self, text: &str) {
        let weights = self.weights;
        let mut sum = 0;
        // Of the run of characters of one kind, words having two: the last, and how many there were, of a word since its last capital.
        let (mut before, mut run) = (Kind::Single, 0_u32);
        for c in text.chars() {
            let (kind, single) = match ASCII.get(c as usize) {
                Some(kind) => (*kind, 0),
                None => weights.kind(c),
            };
            let goes_on = match kind {
                Kind::Letter | Kind::Capital => matches!(before, Kind::Letter | Kind::Capital),
                kind => kind == before,
            };
            run = if goes_on { run + 1 } else { 1 };
            let comes_to = match kind {
                Kind::Letter | Kind::Capital if run == 1 => weights.word,
                Kind::Capital if before == Kind::Letter => {
                    run = 1;
                    weights.camel
                }
                Kind::Letter | Kind::Capital if run > 4 => weights.long,
                Kind::Digit if run % 3 == 1 => weights.digits,
                Kind::Sign if run == 1 => weights.signs,
                Kind::Sign => weights.more_signs,
                Kind::Line if run == 1 => weights.line,
                Kind::Blank if run == 2 => weights.blanks,
                _ => 0,
            };
            sum += u64::from(comes_to) + u64::from(single);
            before = kind;
        }
        self.hundredths += sum;
    }
}

impl Weights {
    /// What a character is that is not ASCII, and what it comes to beside that.
    fn kind(&self, c: char) -> (Kind, u16) {
        match c {
            '\0'..='\u{bf}' | '\u{2000}'..='\u{206f}' => (Kind::Sign, 0),
            // Latin with what stands on it.
            '\u{c0}'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' => {
                (Kind::Letter, self.accent)
            }
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => (Kind::Single, self.greek),
            '\u{400}'..='\u{52f}' => (Kind::Single, self.cyrillic),
            '\u{590}'..='\u{77f}' => (Kind::Single, self.semitic),
            '\u{900}'..='\u{11ff}' => (Kind::Single, self.indic),
            '\u{3040}'..='\u{30ff}' => (Kind::Single, self.kana),
            '\u{ac00}'..='\u{d7af}' => (Kind::Single, self.hangul),
            // Their punctuation, and the wide forms, as well.
            '\u{3000}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{2ffff}' => {
                (Kind::Single, self.han)
            }
            _ => (Kind::Single, self.other),
        }
    }
}
