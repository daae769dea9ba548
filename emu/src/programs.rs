//! What was made of programs that may come back: a job that is repeated loads
//! the same words again, a job of several passes its programs in turn.

use crate::account::Account;
use crate::core::Core;
use crate::decoded::{Decoded, decode};
use crate::fast::{Fast, sets_up};
use crate::fault::FaultKind;
use cp2_machine::Machine;

/// Programs remembered besides the one in program memory.
const MOST: usize = 8;

/// A program, and what was made of it.
#[derive(Debug, Default)]
struct Made {
    /// Program memory, up to the last word that was loaded.
    words: Vec<u64>,
    loaded: Vec<bool>,
    /// `None` where not yet decoded.
    decoded: Vec<Option<Decoded>>,
    fast: Fast,
}

impl Made {
    fn of(core: &Core) -> Self {
        Self {
            words: core.loaded.of(&core.program).to_vec(),
            loaded: core.loaded.all().to_vec(),
            ..Self::default()
        }
    }

    fn is_of(&self, core: &Core) -> bool {
        self.words == core.loaded.of(&core.program) && self.loaded == core.loaded.all()
    }
}

/// The translation of the program in program memory, and of others before it.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// Of what program memory held when it was last looked at.
    now: Made,
    /// Program memory was not written since then.
    settled: bool,
    /// The oldest first.
    kept: Vec<Made>,
    /// Who ran the words of programs before this one.
    ran: Account,
}

impl Programs {
    /// The translation in use.
    pub(crate) fn fast(&self) -> &Fast {
        &self.now.fast
    }

    /// The translation in use, which [`Programs::follow`] has brought up to date.
    pub(crate) fn fast_mut(&mut self) -> &mut Fast {
        &mut self.now.fast
    }

    /// Program memory was written. First [`Fast::leave`], [`Fast::tally`] and [`Fast::uncount`].
    pub(crate) fn changed(&mut self) {
        self.settled = false;
    }

    /// Finds what was made of the program that program memory holds.
    #[inline]
    pub(crate) fn follow(&mut self, core: &Core) {
        if !self.settled {
            self.find(core);
        }
    }

    #[cold]
    fn find(&mut self, core: &Core) {
        self.settled = true;
        if !core.loops.iter().all(|running| sets_up(core, running)) {
            // Others may end at words where the loops of the program do not.
            return self.put(Made::of(core));
        }
        if self.now.is_of(core) {
            return;
        }
        let made = match self.kept.iter().position(|made| made.is_of(core)) {
            Some(i) => self.kept.remove(i),
            None => Made::of(core),
        };
        self.put(made);
    }

    fn put(&mut self, made: Made) {
        let mut before = std::mem::replace(&mut self.now, made);
        self.ran.take(&mut before.fast.ran);
        if !before.fast.is_empty() {
            if self.kept.len() == MOST {
                self.kept.remove(0);
            }
            self.kept.push(before);
        }
    }

    /// The decoded word at the program counter.
    ///
    /// # Errors
    /// It was never loaded, or the machine lacks what it asks for.
    pub(crate) fn fetch(&mut self, core: &Core, machine: &Machine) -> Result<Decoded, FaultKind> {
        self.follow(core);
        let pc = core.pc as usize;
        if !core.loaded.is(pc) {
            return Err(FaultKind::NoProgram);
        }
        let decoded = &mut self.now.decoded;
        // As far as programs reach: most are far shorter than program memory.
        if decoded.len() <= pc {
            decoded.resize(core.loaded.all().len(), None);
        }
        if let Some(decoded) = decoded[pc] {
            return Ok(decoded);
        }
        let word = decode(core.program[pc], machine)?;
        decoded[pc] = Some(word);
        Ok(word)
    }

    /// Forgets all translations.
    pub(crate) fn clear(&mut self) {
        let mut ran = std::mem::take(&mut self.ran);
        ran.take(&mut self.now.fast.ran);
        *self = Self {
            ran,
            ..Self::default()
        };
    }

    /// Who ran which words, of all programs.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn ran(&self) -> Account {
        let mut ran = self.ran.clone();
        ran.merge(&self.now.fast.ran);
        ran
    }
}
