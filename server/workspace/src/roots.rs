//! The folders that we work in, and whether a path lies in one of them. Symlinks and `..` are resolved first, so that
//! no spelling leads out; nothing is remembered, because links change.

use std::{
    path::{Component, Path, PathBuf},
    sync::{PoisonError, RwLock},
};

/// How many links one path may lead through, as the system has it.
const LINKS: usize = 40;

#[derive(Default)]
pub(crate) struct Roots(RwLock<Vec<PathBuf>>);

impl Roots {
    pub(crate) const fn new(roots: Vec<PathBuf>) -> Self {
        Self(RwLock::new(roots))
    }

    pub(crate) fn get(&self) -> Vec<PathBuf> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set(&self, roots: Vec<PathBuf>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// The innermost root that holds a path, as the root was given. A path that does not exist lies where its nearest
    /// existing parent does.
    pub(crate) fn holding(&self, path: &Path) -> Option<PathBuf> {
        let path = resolve(path)?;
        let roots = self.get().into_iter();
        let resolved: Vec<_> = roots
            .filter_map(|root| Some((resolve(&root)?, root)))
            .collect();
        innermost(&path, &resolved).map(Path::to_owned)
    }
}

/// The innermost of the roots, each resolved and as it was given, that holds a path that is resolved.
pub(crate) fn innermost<'a>(path: &Path, roots: &'a [(PathBuf, PathBuf)]) -> Option<&'a Path> {
    let holding = roots
        .iter()
        .filter(|(resolved, _)| path.starts_with(resolved));
    holding
        .max_by_key(|(resolved, _)| resolved.components().count())
        .map(|(_, root)| root.as_path())
}

/// Where an absolute path really leads, whether or not there is something yet; `None` if it leads nowhere that we could
/// know.
pub fn resolve(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    // One part at a time, as the system would do it, up to where nothing exists any more.
    let mut resolved = PathBuf::new();
    let mut rest: Vec<PathBuf> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match part.components().next()? {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => {
                let next = resolved.join(name);
                match next.read_link() {
                    Ok(target) => {
                        links += 1;
                        if links > LINKS {
                            return None;
                        }
                        rest.extend(parts(&target));
                    }
                    Err(_) => resolved = next,
                }
            }
            // An absolute path, or an absolute link's target: from the top again.
            Component::Prefix(_) | Component::RootDir => resolved.push(&part),
        }
    }
    // Drive letters and short names have one true spelling only where something exists.
    let missing: Vec<_> = resolved
        .ancestors()
        .take_while(|above| !above.exists())
        .collect();
    let there = resolved.ancestors().nth(missing.len())?;
    let mut real = there.canonicalize().ok()?;
    real.push(resolved.strip_prefix(there).ok()?);
    Some(real)
}

/// A path's parts, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}
