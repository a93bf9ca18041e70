//! A name as a call gives it, and how well what has the name fits what it should be in: `Shape.area` is the trait's own
//! method before those of what implements it, and no module `area`. Asks no server.

use std::path::Path;

use workspace::DocumentUri;

use super::names::words;

/// What it is the name of, and what that should be in.
pub struct Wanted {
    pub name: String,
    within: Vec<String>,
}

/// How near something is to where its name should be. What is nearer is meant; of the same, what has more of it around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fit {
    pub near: Near,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Near {
    /// Not there.
    #[default]
    Elsewhere,
    /// In something that speaks of it, as what implements a trait does.
    Said,
    /// In a file or a folder of that name.
    Path,
    /// Somewhere in it.
    Inside,
    /// A member of it, or it need not be in anything.
    Member,
}

impl Near {
    /// Whether it may be taken for what is meant, if it is the only one.
    pub fn is_sure(self) -> bool {
        self >= Self::Path
    }

    /// Whether something of that name is around it.
    pub fn is_inside(self) -> bool {
        self >= Self::Inside
    }
}

impl Wanted {
    pub fn of(symbol: &str) -> Self {
        let symbol = symbol.strip_suffix("()").unwrap_or(symbol);
        let mut parts: Vec<String> = symbol
            .split(['.', ':', '/'])
            .map(str::trim)
            // `Type#method`, and `#private`.
            .flat_map(|part| match part.starts_with('#') {
                true => vec![part],
                false => part.split('#').collect(),
            })
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        let name = parts.pop().unwrap_or_default();
        Self {
            name,
            within: parts,
        }
    }

    /// Whether it says that the name should be in something that has a name.
    pub fn is_qualified(&self) -> bool {
        const HERE: [&str; 5] = ["crate", "self", "super", "this", "Self"];
        let inner = self.within.last();
        inner.is_some_and(|inner| !HERE.contains(&inner.as_str()))
    }

    /// How well it fits what lies in that document, in these from the outermost.
    pub fn fit(&self, uri: &DocumentUri, around: &[impl AsRef<str>]) -> Fit {
        let path = uri.path().map(Path::to_string_lossy);
        let path = path.iter().flat_map(|path| path.split(['/', '\\']));
        let around = around.iter().map(AsRef::<str>::as_ref);
        let near = match self.within.last() {
            Some(inner) if self.is_qualified() => near(inner, path.clone(), around.clone()),
            _ => Near::Member,
        };
        let all: Vec<&str> = path.chain(around).collect();
        let mut outwards = all.into_iter().rev();
        let is_around = |part: &&String| outwards.any(|outer| has_word(outer, part));
        let depth = self.within.iter().rev().take_while(is_around).count();
        Fit { near, depth }
    }

    /// Only those that fit best; how near these are.
    pub fn best<T>(all: &mut Vec<T>, fit: impl Fn(&T) -> Fit) -> Near {
        let best = all.iter().map(&fit).max().unwrap_or_default();
        all.retain(|one| fit(one) == best);
        best.near
    }
}

fn near<'a>(
    inner: &str,
    mut path: impl Iterator<Item = &'a str>,
    mut around: impl DoubleEndedIterator<Item = &'a str> + Clone,
) -> Near {
    let is_it = |container: &str| own_name(container) == inner;
    let says_it = |container: &str| has_word(container, inner);
    match () {
        () if around.clone().next_back().is_some_and(is_it) => Near::Member,
        () if around.clone().any(is_it) => Near::Inside,
        () if path.any(says_it) => Near::Path,
        () if around.any(says_it) => Near::Said,
        () => Near::Elsewhere,
    }
}

fn has_word(text: &str, wanted: &str) -> bool {
    words(text).any(|word| word == wanted)
}

/// What a container is called itself: of `impl crate::Shape for &'a shapes::Circle<T>` that is `Circle`.
fn own_name(container: &str) -> &str {
    let of = container.strip_prefix("impl ").unwrap_or(container);
    let of = of.rsplit_once(" for ").map_or(of, |(_, of)| of);
    // What is said of its kind, its parameters and what it is given.
    let end = of.find(['<', '(', '[']).filter(|end| *end > 0);
    let name = end.map_or(of, |end| &of[..end]);
    words(name).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_containers_are_called() {
        for (container, expected) in [
            ("Circle", "Circle"),
            ("Circle<T>", "Circle"),
            ("impl Circle", "Circle"),
            ("impl Shape for Circle<'a, T>", "Circle"),
            ("impl crate::Shape for &'a mut shapes::Circle", "Circle"),
            ("impl From<Circle> for u32", "u32"),
            ("impl Shape for [Circle]", "Circle"),
            ("impl Shape for (Circle, Square)", "Square"),
            ("shapes::Circle", "Circle"),
            ("\"shapes/circle\"", "circle"),
            ("describe(\"x\") callback", "describe"),
            ("", ""),
        ] {
            assert_eq!(own_name(container), expected, "{container}");
        }
    }

    #[test]
    fn what_names_are_made_of() {
        for (symbol, within, name) in [
            ("area", "", "area"),
            ("area()", "", "area"),
            ("Circle.area", "Circle", "area"),
            (
                "crate::shapes::Circle::area()",
                "crate shapes Circle",
                "area",
            ),
            ("src/shapes/area", "src shapes", "area"),
            ("Circle#area", "Circle", "area"),
            ("Circle.#area", "Circle", "#area"),
            ("#area", "", "#area"),
            ("::", "", ""),
        ] {
            let wanted = Wanted::of(symbol);
            assert_eq!(
                (wanted.within.join(" ").as_str(), &*wanted.name),
                (within, name)
            );
        }
    }

    #[test]
    fn how_near_things_are() {
        let uri = DocumentUri::parse("file:///src/shapes.rs").expect("a uri");
        for (symbol, around, near) in [
            ("area", &[][..], Near::Member),
            ("self.area", &[], Near::Member),
            ("Circle.area", &["impl Circle"], Near::Member),
            ("Shape::area", &["impl Shape for Circle"], Near::Said),
            ("Circle.area", &["Circle", "Inner"], Near::Inside),
            ("shapes.area", &[], Near::Path),
            ("shapes.area", &["impl shapes for Circle"], Near::Path),
            ("Circle.area", &["Square"], Near::Elsewhere),
        ] {
            assert_eq!(Wanted::of(symbol).fit(&uri, around).near, near, "{symbol}");
        }
    }
}
