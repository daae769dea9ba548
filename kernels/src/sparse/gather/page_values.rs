//! The values that a page brings beside its words.

/// Source of a value of a page: the entry of a row of a section, or none.
pub(super) type EntryOfValue = Option<(usize, u32)>;

/// Values of a page, in the order in which they are used.
#[derive(Clone, Debug, Default)]
pub(super) struct PageValues {
    /// Values of multiplications that several sections have entries for: as many for each section.
    pub(super) all: Vec<Vec<EntryOfValue>>,
    /// Values of multiplications that one section alone has entries for, by section; empty if these are not
    /// kept apart.
    pub(super) alone: Vec<Vec<EntryOfValue>>,
    /// DMEM address of the values of one section alone.
    pub(super) apart: u32,
}

impl PageValues {
    pub(super) fn new(sections: usize, apart: Option<u32>) -> Self {
        Self {
            all: vec![Vec::new(); sections],
            alone: vec![Vec::new(); if apart.is_some() { sections } else { 0 }],
            apart: apart.unwrap_or(0),
        }
    }

    /// Returns the bytes of both kinds, for numbers of `number` bytes: of a section, and of the section that
    /// has the most alone.
    pub(super) fn bytes(&self, number: usize) -> [usize; 2] {
        let most = |all: &[Vec<EntryOfValue>]| number * all.iter().map(Vec::len).max().unwrap_or(0);
        [most(&self.all), most(&self.alone)]
    }
}
