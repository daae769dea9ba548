//! Handles of rows: numbers into a table of all rows that this process has met.

use super::{RowDefinition, RowFlaw};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

/// Most distinct rows of a process, which bounds the memory that they take.
const MOST: usize = 1 << 12;

/// All rows, in the order in which they were first met. Entries are never changed or removed, so that they are
/// read without a lock.
static DEFINITIONS: [OnceLock<RowDefinition>; MOST] = [const { OnceLock::new() }; MOST];

/// Places of the rows in [`DEFINITIONS`].
static PLACES: LazyLock<Mutex<HashMap<RowDefinition, u16>>> = LazyLock::new(Mutex::default);

/// A row that some machine file defines. Equal rows are equal handles. The number of a handle depends on what the
/// process did before: it enters no result, and rows are ordered by their text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserRow(u16);

impl UserRow {
    /// Most distinct rows of a process.
    pub const MOST: usize = MOST;

    /// Returns the handle of a row.
    ///
    /// # Errors
    /// The process has met as many different rows as there may be.
    pub fn intern(definition: RowDefinition) -> Result<Self, RowFlaw> {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&place) = places.get(&definition) {
            return Ok(Self(place));
        }
        let full = RowFlaw::Full { most: MOST };
        let place = u16::try_from(places.len()).map_err(|_| full.clone())?;
        let entry = DEFINITIONS.get(usize::from(place)).ok_or(full)?;
        entry.get_or_init(|| definition.clone());
        places.insert(definition, place);
        Ok(Self(place))
    }

    /// Returns the place in a table with one entry for each row, below [`UserRow::MOST`].
    #[must_use]
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the definition.
    #[must_use]
    pub fn definition(self) -> &'static RowDefinition {
        // A handle is made behind its entry, so that the other definition is never returned.
        static NONE: LazyLock<RowDefinition> = LazyLock::new(RowDefinition::none);
        DEFINITIONS[self.place() % MOST]
            .get()
            .unwrap_or_else(|| &NONE)
    }
}

impl RowDefinition {
    /// Returns a row that does nothing.
    fn none() -> Self {
        Self {
            mnemonic: String::new(),
            form: super::RowForm::P2,
            class: crate::Class::Integer,
            opcode: 0,
            latency: None,
            multipliers: 0,
            adders: 0,
            lanes: String::new(),
            flow: super::LaneFlow::default(),
            doc: String::new(),
            origin: crate::provenance::Origin::default(),
        }
    }
}

impl Ord for UserRow {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |row: &Self| {
            let row = row.definition();
            (
                row.essence(),
                &row.doc,
                &row.origin.reference,
                row.origin.source.name(),
            )
        };
        match self == other {
            true => Ordering::Equal,
            false => key(self).cmp(&key(other)),
        }
    }
}

impl PartialOrd for UserRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for UserRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.definition();
        write!(f, "{} {}", row.mnemonic, row.form)
    }
}
