//! Tables in docs/language-servers.md that come from tests: between `<!-- NAME -->` and `<!-- /NAME -->`. With `UPDATE_DOCS=1`
//! they are written, else held against what is there.

use std::path::Path;

/// Holds (or writes) the text of one name.
pub fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language-servers.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let from = page.find(&begin).expect("where it begins") + begin.len();
    let to = from + page[from..].find(&end).expect("where it ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let new = format!("{}{text}\n{}", &page[..from], &page[to..]);
        std::fs::write(&path, new).expect("written");
        return;
    }
    assert_eq!(
        page[from..to].trim_end(),
        text,
        "docs/language-servers.md is not as the tests are: run them with UPDATE_DOCS=1"
    );
}
