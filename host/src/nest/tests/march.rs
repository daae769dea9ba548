//! Tests of sliding windows by the runs of transfers, without an emulator.
//!
//! They check the contents of DMEM while a page is computed.

use super::*;
use crate::schedule::Buffering;
use cp2_asm::{Source, assemble};
use cp2_dma::{Direction, Recipient};
use proptest::prelude::*;
use std::collections::HashMap;

/// A drawn case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    march: March,
    shape: [u64; AXES],
    block: [u64; AXES],
    halos: Vec<[u64; AXES]>,
    edge: BoundaryRule,
    size: Option<u32>,
    buffering: Buffering,
    apart: bool,
}

const ELEMENT: u64 = 4;
const ZEROS: u64 = 1 << 29;

impl Case {
    /// Returns the address of an input in system memory.
    fn system(index: usize) -> u64 {
        (1 + index as u64) << 20
    }

    fn sweep(&self, march: Option<March>) -> GridPass {
        let inputs = self.halos.iter().enumerate().map(|(index, &halo)| {
            let field = GridField::new("u", Self::system(index), ELEMENT, self.shape, self.block);
            field.halo(halo, self.edge)
        });
        let output = GridField::new("v", 1 << 28, ELEMENT, self.shape, self.block);
        GridPass {
            march,
            marches_apart: self.apart,
            zeros: (ZEROS, 4096),
            size: self
                .size
                .map_or(BlocksPerSection::ANY, BlocksPerSection::Fixed),
            buffering: self.buffering,
            reads: self.reads(),
            ..GridPass::new(inputs.collect(), vec![output])
        }
    }

    /// Returns the number of lines of an input's window along the march.
    fn window(&self, index: usize) -> u64 {
        self.block[self.march.axis()] + 2 * self.halos[index][self.march.axis()]
    }

    fn slides(&self, index: usize) -> bool {
        self.halos[index][self.march.axis()] > 0
    }

    /// Returns the offset from `a15` of the word with the address of a line of an input's window.
    fn line(&self, index: usize, line: u64) -> i64 {
        let before = (0..index).filter(|&input| self.slides(input));
        let before: u64 = before.map(|input| self.window(input)).sum();
        -104 - 8 * (self.halos.len() as i64 - 1) - 8 * (before + line) as i64
    }

    /// Returns the argument words that a kernel with line addresses reads.
    fn reads(&self) -> Reads {
        let mut text = ".include \"page.s\"\n.program\npage_begin\nldx2 a0, [a15]\n".to_owned();
        for index in (0..self.halos.len()).filter(|&index| self.slides(index)) {
            for line in 0..self.window(index) {
                text += &format!("ldx a2, [a15 + {}]\n", self.line(index, line));
            }
        }
        text += "page_end\nstop\n";
        let assembly = assemble(&Source::new("lines.s", &text), &cp2_asm::Options::default());
        Reads::from_program(&assembly.unwrap().program)
    }

    /// Returns the address in system memory of an element of an input, which may be outside the array, or
    /// nothing for a zero.
    fn locate_element(&self, index: usize, at: [i64; AXES]) -> Option<u64> {
        let mut place = 0;
        for (axis, i) in at.into_iter().enumerate() {
            let n = self.shape[axis] as i64;
            let i = match self.edge {
                BoundaryRule::Zero => (0..n).contains(&i).then_some(i)?,
                BoundaryRule::Clamp => i.clamp(0, n - 1),
                BoundaryRule::Periodic => i.rem_euclid(n),
            };
            place = place * n as u64 + i as u64;
        }
        Some(Self::system(index) + place * ELEMENT)
    }
}

/// Addresses that the words of each section's DMEM were loaded from.
struct Dmem(Vec<HashMap<u32, Option<u64>>>);

impl Dmem {
    /// Loads a page, and returns the bytes that each section gets.
    fn load(&mut self, nest: &GridPlan, page: u64, machine: &Machine) -> Vec<u64> {
        let mut bytes = vec![0; self.0.len()];
        for (_, transfer) in nest.transfers(Direction::Load, page) {
            cp2_dma::validate(&transfer, machine).unwrap();
            for run in transfer.runs(machine) {
                for (section, words) in self.0.iter_mut().enumerate() {
                    let own = match run.to {
                        Recipient::Section(to) => to as usize == section,
                        Recipient::All => true,
                        other => panic!("{other:?}"),
                    };
                    for at in (0..run.bytes).step_by(4).filter(|_| own) {
                        let from = Some(run.system + at).filter(|from| *from < ZEROS);
                        words.insert(run.local + at as u32, from);
                        bytes[section] += 4;
                    }
                }
            }
        }
        bytes
    }
}

/// A page that the kernel may work on.
struct Live<'a> {
    case: &'a Case,
    nest: &'a GridPlan,
    page: u64,
    digits: [u64; AXES],
    /// Argument block in the slot of the page.
    words: &'a [u32],
    /// Argument block that is made for the page.
    own: Vec<u32>,
}

impl<'a> Live<'a> {
    fn new(case: &'a Case, nest: &'a GridPlan, page: u64, words: &'a [u32]) -> Self {
        // The digit of the march runs fastest.
        let (axis, all) = (case.march.axis(), nest.digits());
        let [slow, middle] = match case.march {
            March::Planes => [1, 2],
            March::Rows => [0, 2],
        };
        let mut digits = [0; AXES];
        digits[axis] = page % all[axis];
        digits[middle] = page / all[axis] % all[middle];
        digits[slow] = page / all[axis] / all[middle];
        Self {
            case,
            nest,
            page,
            digits,
            words,
            own: nest.arguments(page),
        }
    }

    fn read_word(&self, words: &[u32], at: i64) -> i64 {
        let before = i64::from(self.nest.layout().before);
        words[((before + at) / 4) as usize].into()
    }

    /// Returns the elements of a section's blocks along each axis.
    fn extent(&self) -> [u64; AXES] {
        let mut extent = self.case.block;
        extent[self.nest.cuts.deal] *= self.nest.cuts.per_section(self.digits);
        extent
    }

    /// Returns the bytes that a section loads with the page.
    fn loads(&self) -> u64 {
        let each = self.case.halos.iter().map(|halo| {
            let extent = self.extent();
            let before = (ELEMENT * halo[2]).next_multiple_of(16);
            let behind = (ELEMENT * (extent[2] + halo[2])).next_multiple_of(16);
            let lines = [0, 1].map(|axis| {
                let known = axis == self.case.march.axis() && self.digits[axis] > 0;
                extent[axis] + if known { 0 } else { 2 * halo[axis] }
            });
            (before + behind) * lines[0] * lines[1]
        });
        each.sum()
    }

    /// Returns the DMEM address of the first element of a row of a plane of an input's window, both counted
    /// from the block's first.
    fn row(&self, index: usize, [z, y]: [i64; 2]) -> Result<i64, TestCaseError> {
        let pitches = match index {
            0 => -96,
            n => -104 - 8 * (n as i64 - 1),
        };
        let pitch = |axis: usize| self.read_word(&self.own, pitches + [4, 0][axis]);
        let first = match index {
            0 => 0,
            n => 12 + 4 * n as i64,
        };
        let first = self.read_word(self.words, first);
        if !self.case.slides(index) {
            return Ok(first + z * pitch(0) + y * pitch(1));
        }
        let axis = self.case.march.axis();
        let halo = self.case.halos[index][axis] as i64;
        let line = ([z, y][axis] + halo) as u64;
        let said = self.case.line(index, line);
        let next = self.read_word(&self.own, said + 4);
        if line + 1 < self.case.window(index) {
            prop_assert_eq!(next, self.read_word(&self.own, said - 8));
        } else {
            prop_assert_eq!(next, 0);
        }
        let address = self.read_word(self.words, said);
        if line == halo as u64 {
            prop_assert_eq!(address, first);
        }
        Ok(match self.case.march {
            March::Planes => address + y * pitch(1),
            March::Rows => address + z * pitch(0),
        })
    }

    /// Checks that all windows of the page are where its arguments say.
    fn check(&self, dmem: &Dmem, loaded: u64) -> Result<(), TestCaseError> {
        let extent = self.extent().map(|n| n as i64);
        for (index, halo) in self.case.halos.iter().enumerate() {
            let range = |axis: usize| {
                let halo = halo[axis] as i64;
                -halo..extent[axis] + halo
            };
            for (z, y) in range(0).flat_map(|z| range(1).map(move |y| (z, y))) {
                let row = self.row(index, [z, y])?;
                for (section, words) in dmem.0.iter().enumerate() {
                    let first = self.nest.cuts.first(self.digits, section as u64);
                    let own = |axis: usize| (first[axis] * self.case.block[axis]) as i64;
                    for x in range(2) {
                        prop_assert_eq!(
                            words.get(&((row + ELEMENT as i64 * x) as u32)),
                            Some(
                                &self
                                    .case
                                    .locate_element(index, [own(0) + z, own(1) + y, own(2) + x])
                            ),
                            "input {} of page {} in section {} at {:?} when page {} is loaded: {}",
                            index,
                            self.page,
                            section,
                            [z, y, x],
                            loaded,
                            self.nest
                        );
                    }
                }
            }
        }
        Ok(())
    }
}

fn run(case: &Case) -> Result<(), TestCaseError> {
    let machine = Machine::builtin("vm7").unwrap();
    let nest = match GridPlan::new(case.sweep(Some(case.march)), &machine) {
        Ok(nest) => nest,
        // The DMA cannot move the case, or it is too large, with or without marching.
        Err(NestError::Unaligned { .. } | NestError::DoesNotFit { .. }) => return Ok(()),
        Err(e) => return Err(TestCaseError::fail(e.to_string())),
    };
    prop_assert_ne!(nest.cuts.deal, case.march.axis());
    let mut dmem = Dmem(vec![HashMap::new(); machine.cp2.sections]);
    let mut slots: Vec<Vec<u32>> = vec![Vec::new(); nest.slots.len()];
    for loaded in 0..nest.len() {
        let bytes = dmem.load(&nest, loaded, &machine);
        let slot = |page: u64| (page % nest.slots.len() as u64) as usize;
        if loaded == 0 || nest.changes_arguments(loaded) {
            slots[slot(loaded)] = nest.arguments(loaded);
        }
        // The kernel may still work on the first of these pages.
        for page in nest.find_preceding_page(loaded).map_or(0, |page| page + 1)..=loaded {
            let live = Live::new(case, &nest, page, &slots[slot(page)]);
            live.check(&dmem, loaded)?;
            // Lines are loaded once, except those around the ends of a march.
            if page == loaded {
                prop_assert!(bytes.iter().all(|&bytes| bytes == live.loads()));
            }
        }
    }
    Ok(())
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let sizes = (
        (1u64..9, 1u64..9, 1u64..9),
        (1u64..5, 1u64..5, 1u64..3),
        prop::collection::vec((0u64..4, 0u64..4, 0u64..3), 1..3),
    );
    let how = (
        prop_oneof![Just(March::Planes), Just(March::Rows)],
        prop_oneof![
            Just(BoundaryRule::Zero),
            Just(BoundaryRule::Periodic),
            Just(BoundaryRule::Clamp)
        ],
        prop::option::of(1u32..3),
        prop_oneof![
            Just(Buffering::Auto),
            Just(Buffering::Single),
            Just(Buffering::Double),
            Just(Buffering::Triple)
        ],
        any::<bool>(),
    );
    (sizes, how).prop_map(|((n, b, halos), (march, edge, size, buffering, apart))| {
        let mut halos: Vec<_> = halos
            .into_iter()
            // Elements that are repeated within a granule need another pass to load.
            .map(|(z, y, x)| [z, y, if edge == BoundaryRule::Clamp { 0 } else { x }])
            .collect();
        let first = &mut halos[0][march.axis()];
        *first = (*first).max(1);
        Case {
            march,
            shape: [n.0, n.1, 4 * n.2],
            block: [b.0, b.1, 4 * b.2],
            halos,
            edge,
            size,
            buffering,
            apart,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn lines_are_there_while_their_pages_are_computed(case in cases()) {
        run(&case)?;
    }
}

fn cube() -> Case {
    Case {
        march: March::Planes,
        shape: [32, 64, 64],
        block: [1, 8, 64],
        halos: vec![[1; AXES]],
        edge: BoundaryRule::Zero,
        size: None,
        buffering: Buffering::Auto,
        apart: false,
    }
}

#[test]
fn marching_is_cheaper_and_priced_so() {
    let machine = Machine::builtin("vm7").unwrap();
    let case = cube();
    let [march, whole] = [Some(March::Planes), None].map(|march| {
        let nest = GridPlan::new(case.sweep(march), &machine).unwrap();
        let mut dmem = Dmem(vec![HashMap::new(); machine.cp2.sections]);
        let pages = 0..nest.len();
        let bytes: u64 = pages
            .map(|k| dmem.load(&nest, k, &machine).iter().sum::<u64>())
            .sum();
        (bytes, nest.expected(), nest)
    });
    assert!(march.0 * 4 < whole.0 * 3, "{} and {}", march.0, whole.0);
    assert!(march.1 * 1.1 < whole.1, "{} and {}", march.1, whole.1);
    // There are argument blocks for a whole turn of the ring, so they are loaded only in the first turn of
    // each march.
    let nest = march.2;
    let changes = (0..nest.len()).filter(|&k| nest.changes_arguments(k));
    let marches = nest.len() / nest.digits()[0];
    let most = marches * nest.slots.len() as u64;
    assert!(
        (changes.count() as u64) < most && most < nest.len(),
        "{nest}"
    );
    let json = serde_json::to_string(&nest).unwrap();
    assert_eq!(serde_json::from_str::<GridPlan>(&json).unwrap(), nest);
}

#[test]
fn what_cannot_march_is_refused() {
    let machine = Machine::builtin("vm7").unwrap();
    let refused = |change: &dyn Fn(&mut GridPass)| {
        let mut sweep = cube().sweep(Some(March::Planes));
        change(&mut sweep);
        GridPlan::new(sweep, &machine).unwrap_err().to_string()
    };
    let in_place = refused(&|sweep| *sweep = sweep.clone().compute_in_place());
    assert!(in_place.contains("outputs of their own"), "{in_place}");
    let halo = refused(&|sweep| sweep.inputs[0].halo = [0, 1, 1]);
    assert!(halo.contains("no input has a halo"), "{halo}");
}
