//! Translations of programs that may come back: a job that is repeated loads
//! the same words again, a job of several passes its programs in turn.

use crate::core::Core;
use crate::fast::Fast;

/// Programs remembered besides the one in program memory.
const MOST: usize = 8;

/// What program memory held when a translation was made.
#[derive(Debug, Default)]
struct Image {
    words: Vec<u64>,
    loaded: Vec<bool>,
}

impl Image {
    fn of(core: &Core) -> Self {
        Self {
            words: core.program.clone(),
            loaded: core.loaded.clone(),
        }
    }

    fn is_in(&self, core: &Core) -> bool {
        self.words == core.program && self.loaded == core.loaded
    }
}

/// The translation of the program in program memory, and of others before it.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// What [`Programs::fast`] is of.
    image: Image,
    /// The translation in use.
    pub fast: Fast,
    /// Program memory was not written since `image` was compared with it.
    pub settled: bool,
    /// The oldest first.
    kept: Vec<(Image, Fast)>,
}

impl Programs {
    /// Makes `fast` the translation of what program memory holds. First
    /// [`Fast::leave`], and [`Fast::tally`] and [`Fast::uncount`].
    pub(crate) fn follow(&mut self, core: &Core) {
        self.settled = true;
        if !core.loops.is_empty() {
            // They may end at words where the loops of the program do not.
            return self.put(Image::of(core), Fast::default());
        }
        if self.image.is_in(core) {
            return;
        }
        let (image, fast) = match self.kept.iter().position(|(image, _)| image.is_in(core)) {
            Some(i) => self.kept.remove(i),
            None => (Image::of(core), Fast::default()),
        };
        self.put(image, fast);
    }

    fn put(&mut self, image: Image, fast: Fast) {
        let before = std::mem::replace(&mut self.image, image);
        let left = std::mem::replace(&mut self.fast, fast);
        if !left.is_empty() {
            if self.kept.len() == MOST {
                self.kept.remove(0);
            }
            self.kept.push((before, left));
        }
    }

    /// Forgets all translations.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
