//! Places that never meet in memory, because the block says so.

use super::block::LinearBlock;
use super::memory::AccessPlace;
use crate::diag::{Fail, Problem, nearest};
use crate::syntax::BlockValueName;

impl LinearBlock {
    /// Refuses names of `.apart` that are no pointers and no addresses.
    pub(crate) fn check_apart(&self) -> Result<(), Fail> {
        for name in self.named_apart.iter().flatten() {
            if name.half.is_some() || name.distance.is_some() || !self.names_place(name) {
                let known = self.pointers.iter().map(|pointer| &*pointer.name);
                let problem = Problem::UnknownPointer {
                    name: name.text.to_string(),
                    near: nearest(&name.text, known),
                };
                return Err(Fail::new(problem, name.at));
            }
        }
        Ok(())
    }

    fn names_place(&self, name: &BlockValueName) -> bool {
        let scalar = self
            .find_value(&name.text)
            .is_some_and(|value| self.is_scalar(value));
        self.find_pointer(&name.text).is_some() || scalar
    }

    /// Returns true if a name stands for a place. A pointer comes before a value of its name, as in brackets.
    fn is_named(&self, name: &BlockValueName, place: AccessPlace) -> bool {
        match (self.find_pointer(&name.text), place) {
            (Some(own), AccessPlace::Pointer(index)) => own == index,
            (None, AccessPlace::Value(used)) => self.find_value(&name.text) == Some(used.value),
            _ => false,
        }
    }

    /// Returns true if a line `.apart` names two places, or one of them alone.
    pub(super) fn are_named_apart(&self, [one, other]: [AccessPlace; 2]) -> bool {
        let same = match (one, other) {
            (AccessPlace::Pointer(a), AccessPlace::Pointer(b)) => a == b,
            (AccessPlace::Value(a), AccessPlace::Value(b)) => a.value == b.value,
            _ => false,
        };
        let apart = |names: &Vec<BlockValueName>| {
            let [one, other] =
                [one, other].map(|place| names.iter().any(|name| self.is_named(name, place)));
            one && other || names.len() == 1 && (one || other)
        };
        !same && self.named_apart.iter().any(apart)
    }
}
