//! Cache of translated programs, which may be loaded again.
//!
//! A repeated job loads the same words again, a job of several passes loads its programs in turn,
//! and a packed matrix whose program words are its pattern comes page by page in every product.

use crate::account::coverage::Account;
use crate::core::Core;
use crate::core::decoded::{Decoded, decode};
use crate::core::fault::FaultKind;
use crate::engines::blocks::{Fast, sets_up};
use cp2_machine::Machine;
use std::collections::BTreeMap;

/// Limits of the cache: programs besides the one in program memory, words of their translations,
/// and blocks compiled to host code.
const MOST: usize = 4096;
const WORDS: usize = 1 << 22;
const BLOCKS: usize = 1 << 14;

/// Distance of the words that are hashed to tell programs apart.
const APART: usize = 16;

/// 2^64 over the golden ratio; multiples of this number modulo 2^64 are spread evenly.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A program with its translations.
#[derive(Debug, Default)]
struct CachedProgram {
    /// Content of program memory up to the last word that was loaded.
    words: Vec<u64>,
    /// Flags of the words that were loaded.
    loaded: Vec<bool>,
    /// Hash of the program, see [`hash_sample`].
    glance: u64,
    fast: Fast,
}

impl CachedProgram {
    fn from_core(core: &Core) -> Self {
        Self {
            words: core.loaded.loaded_prefix(&core.program).to_vec(),
            loaded: core.loaded.all().to_vec(),
            glance: hash_sample(core),
            fast: Fast::default(),
        }
    }

    fn matches_core(&self, core: &Core, glance: u64) -> bool {
        self.glance == glance
            && self.words == core.loaded.loaded_prefix(&core.program)
            && self.loaded == core.loaded.all()
    }
}

/// Hashes every [`APART`]th word of a program. Different programs rarely share a hash.
fn hash_sample(core: &Core) -> u64 {
    let words = core
        .loaded
        .loaded_prefix(&core.program)
        .iter()
        .step_by(APART);
    words.fold(0, |sum: u64, word| {
        (sum.rotate_left(5) ^ word).wrapping_mul(STRIDE)
    })
}

/// Translations of the program in program memory and of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// Program that program memory held when it was last compared.
    now: CachedProgram,
    /// True if program memory was not written since then.
    settled: bool,
    /// Other programs by their hash [`hash_sample`].
    kept: BTreeMap<u64, CachedProgram>,
    /// Position in the hashes from which on the next program to be forgotten is sought.
    forget: u64,
    /// Words of the translations of `kept`.
    kept_words: usize,
    /// Blocks of `kept` that are compiled.
    kept_blocks: usize,
    /// Decoded words of program memory, each with the bits that it was decoded from. A word whose
    /// bits have changed is decoded again.
    decoded: Vec<Option<(u64, Decoded)>>,
    /// Record of the tier that ran the words of earlier programs.
    ran: Account,
}

impl Programs {
    /// Returns the translation in use.
    pub(crate) fn fast(&self) -> &Fast {
        &self.now.fast
    }

    /// Returns the translation in use, which [`Programs::select_translation`] has brought up to date.
    pub(crate) fn fast_mut(&mut self) -> &mut Fast {
        &mut self.now.fast
    }

    /// Notes that program memory was written. [`Fast::leave`], [`Fast::tally`] and
    /// [`Fast::uncount`] must be called first.
    pub(crate) fn changed(&mut self) {
        self.settled = false;
    }

    /// Exchanges all translations for those of `other`. [`Programs::changed`] says what must be called first,
    /// on both. The record of what has run stays.
    pub(crate) fn swap(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
        std::mem::swap(&mut self.ran, &mut other.ran);
        self.ran.take(&mut other.now.fast.ran);
        // The next processor has another program memory.
        (self.settled, other.settled) = (false, false);
    }

    /// Finds the translation of the program that program memory holds.
    #[inline]
    pub(crate) fn select_translation(&mut self, core: &Core) {
        if !self.settled {
            self.find(core);
        }
    }

    #[cold]
    fn find(&mut self, core: &Core) {
        self.settled = true;
        if !core.loops.iter().all(|running| sets_up(core, running)) {
            // Running loops that the program does not set up may end at words where its own loops
            // do not.
            return self.make_current(CachedProgram::from_core(core));
        }
        let glance = hash_sample(core);
        if self.now.matches_core(core, glance) {
            return;
        }
        let known = self.kept.remove(&glance);
        if let Some(made) = &known {
            self.uncount(made);
        }
        let known = known.filter(|made| made.matches_core(core, glance));
        self.make_current(known.unwrap_or_else(|| CachedProgram::from_core(core)));
    }

    fn make_current(&mut self, made: CachedProgram) {
        let mut before = std::mem::replace(&mut self.now, made);
        self.ran.take(&mut before.fast.ran);
        if before.fast.is_empty() {
            return;
        }
        self.kept_words += before.fast.words();
        self.kept_blocks += before.fast.compiled();
        if let Some(other) = self.kept.insert(before.glance, before) {
            self.uncount(&other);
        }
        while self.kept.len() > MOST || self.kept_words > WORDS || self.kept_blocks > BLOCKS {
            // A pseudo-random program is forgotten: if programs come in turn, the oldest is the
            // next one needed.
            self.forget = self.forget.wrapping_add(STRIDE);
            let next = self.kept.range(self.forget..).chain(&self.kept).next();
            let Some(made) = next
                .map(|(glance, _)| *glance)
                .and_then(|glance| self.kept.remove(&glance))
            else {
                return;
            };
            self.uncount(&made);
        }
    }

    /// Subtracts a program that is not kept any longer.
    fn uncount(&mut self, made: &CachedProgram) {
        self.kept_words -= made.fast.words();
        self.kept_blocks -= made.fast.compiled();
    }

    /// Returns the decoded word at the program counter.
    ///
    /// # Errors
    /// It was never loaded, or the machine lacks what it asks for.
    pub(crate) fn fetch(&mut self, core: &Core, machine: &Machine) -> Result<Decoded, FaultKind> {
        let pc = core.pc as usize;
        if !core.loaded.is(pc) {
            return Err(FaultKind::NoProgram);
        }
        let bits = core.program[pc];
        // The table is as long as the loaded words, which are far fewer than program memory has.
        if self.decoded.len() <= pc {
            self.decoded.resize(core.loaded.all().len(), None);
        }
        if let Some((of, decoded)) = self.decoded[pc]
            && of == bits
        {
            return Ok(decoded);
        }
        let word = decode(bits, machine)?;
        self.decoded[pc] = Some((bits, word));
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

    /// Returns the record of the tier that ran each word, of all programs.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn ran(&self) -> Account {
        let mut ran = self.ran.clone();
        ran.merge(&self.now.fast.ran);
        ran
    }
}
