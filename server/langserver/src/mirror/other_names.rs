//! Files that a server calls by another name than the editor that holds them: links lead to both. What it was told under the
//! editor's name is no news of the other one, whose text it takes from the disk. Once it has named it, it is told of the
//! text under its own name as well. It looks at no disk to find out which names are one file's.

use workspace::{DocumentUri, Snapshot};

use super::held::{Wire, by_texts};

impl Wire {
    /// Whether the server has an editor's document under this other name too, as it does from now on if it has it at all. Not
    /// under a lease.
    pub fn tell_by(&mut self, other: &DocumentUri, own: &DocumentUri) -> bool {
        if self.lease().is_some() || other == own {
            return false;
        }
        let is_an_editors = |held: &super::held::Held| !held.borrowed;
        let Some(held) = self.held.get(own).filter(|held| is_an_editors(held)) else {
            return false;
        };
        let snapshot = Snapshot {
            uri: other.clone(),
            ..held.snapshot.clone()
        };
        match self.held.get_mut(other) {
            None => self.open(&snapshot, false),
            Some(held) if held.borrowed => {
                held.borrowed = false;
                self.borrowed.retain(|borrowed| borrowed != other);
            }
            // An editor holds both: each is told as it is there.
            Some(_) => return self.others.contains_key(other),
        }
        self.all = None;
        self.others.insert(other.clone(), own.clone());
        self.tell_others(own);
        true
    }

    /// Keeps the texts of a document's other names in step with its own.
    pub(super) fn tell_others(&mut self, own: &DocumentUri) {
        for other in self.others_of(own) {
            let Some(held) = self.held.get(own) else {
                self.give_up(&other);
                self.close(&other);
                continue;
            };
            let (now, saved) = (held.snapshot.clone(), held.saved.clone());
            let Some(held) = self.held.get_mut(&other) else {
                continue;
            };
            held.saved = saved;
            let said = by_texts(&held.snapshot.text, &now.text, false);
            let now = Snapshot {
                uri: other.clone(),
                ..now
            };
            self.say(&other, now, said);
        }
    }

    /// The other names by which the server has a document.
    pub(super) fn others_of(&self, own: &DocumentUri) -> Vec<DocumentUri> {
        let others = self.others.iter().filter(|(_, of)| *of == own);
        others.map(|(other, _)| other.clone()).collect()
    }
}
