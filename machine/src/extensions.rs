//! Optional parts of the machine, as flags.

bitflags::bitflags! {
    /// Extensions a machine may have and a program may require.
    ///
    /// The base machine has none. Each flag stands for one proposal of the
    /// source documents; a later machine file switches it on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
    #[serde(transparent)]
    pub struct Extensions: u32 {
        /// Each section computes its own DMEM addresses.
        const SECTION_ADDRESSING = 1 << 0;
        /// DMEM addresses single 32-bit words.
        const WORD_ADDRESSING = 1 << 1;
        /// Registers and loads cross from one section to another.
        const EXCHANGE = 1 << 2;
        /// Masks of lanes for all writes, and votes of all sections.
        const CONDITIONAL = 1 << 3;
        /// Double precision in hardware.
        const DOUBLE = 1 << 4;
        /// Instructions that help emulate double with single precision.
        const DOUBLE_SINGLE = 1 << 5;
        /// Transfers of single elements at the addresses of a list.
        const LIST_TRANSFERS = 1 << 6;
    }
}

impl Extensions {
    /// No flag: what belongs to it is of every machine, or of those that meet a condition.
    pub(crate) const NONE: Self = Self::empty();

    /// Returns the flags' names in machine files and diagnostics, lower case with dashes.
    pub fn names(self) -> impl Iterator<Item = String> {
        self.iter_names()
            .map(|(name, _)| name.to_lowercase().replace('_', "-"))
    }

    /// Returns the present name of a flag that once had another.
    #[must_use]
    pub fn successor(name: &str) -> Option<&'static str> {
        (name == "shared-memory").then_some("exchange")
    }

    /// Returns the flag of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::from_name(&name.to_uppercase().replace('-', "_"))
    }
}
