//! The values that a page brings beside its words.

/// What a value of a page is: the entry of a row of a section, or nothing.
pub(super) type EntryOfValue = Option<(usize, u32)>;

/// The values of a page, in the order in which they are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct PageValues {
    /// Those of multiplications that several sections have entries for: of each section as many.
    pub(super) all: Vec<Vec<EntryOfValue>>,
    /// Those of multiplications that one section alone has entries for; of none where that is not done.
    pub(super) alone: Vec<Vec<EntryOfValue>>,
    /// Where the latter lie in local memory.
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

    /// So many bytes each, where a number has so many: of a section, and of the section that has most alone.
    pub(super) fn bytes(&self, number: usize) -> [usize; 2] {
        let most = |all: &[Vec<EntryOfValue>]| number * all.iter().map(Vec::len).max().unwrap_or(0);
        [most(&self.all), most(&self.alone)]
    }
}
