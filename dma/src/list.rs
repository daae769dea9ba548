//! List transfers: single elements at the addresses of a list.

use crate::error::{DescriptorError, Field, FieldValue, Rule};
use crate::transfer::{Transfer, check_runs, refuse};
use crate::{Direction, Recipient, Run, Schedule};
use cp2_machine::{Extensions, Machine};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The local side of a list transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListTarget {
    /// One section's DMEM.
    Section(u32),
    /// Entries belong to sections 0, 1, 2, ... in turn.
    Deal,
}

/// A transfer of elements of one size, each with addresses of its own: a gather as a load, a scatter as a store.
///
/// The list lies in system memory, 8 bytes an entry, and the controller reads it over the channel. The transfer
/// holds a copy: what moves is known when it is submitted.
///
/// ```
/// use cp2_dma::{ListTarget, ListTransfer, transfer_time, validate};
/// use cp2_machine::Machine;
///
/// let gather = ListTransfer::load(ListTarget::Section(1), 0x1000, 16, [(0, 0), (640, 16), (656, 32)]);
/// let machine = Machine::load("vm7+list-transfers").unwrap();
/// validate(&gather, &machine)?;
/// // The second and the third element are neighbours.
/// assert_eq!(transfer_time(&gather, &machine).runs, 2);
///
/// let refused = validate(&gather, &Machine::load("vm7").unwrap()).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "DMA kind is list: it must be strided: this machine does not have the extension `list-transfers`"
/// );
/// # Ok::<(), cp2_dma::DescriptorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ListTransfer {
    /// Load or store.
    pub direction: Direction,
    /// Local side.
    pub target: ListTarget,
    /// Byte address in system memory from which entries count.
    pub system: u64,
    /// Bytes of an element: 4, 8 or 16.
    pub element: u32,
    /// Bytes behind `system`, and byte address in DMEM, of each element, in the order in which they move.
    pub entries: Arc<[(u32, u32)]>,
    /// CP2 event to post when the transfer completes.
    pub event: Option<u32>,
}

impl ListTransfer {
    /// A load of elements of `element` bytes.
    #[must_use]
    pub fn load(
        target: ListTarget,
        system: u64,
        element: u32,
        entries: impl IntoIterator<Item = (u32, u32)>,
    ) -> Self {
        Self {
            direction: Direction::Load,
            target,
            system,
            element,
            entries: entries.into_iter().collect(),
            event: None,
        }
    }

    /// A store of elements of `element` bytes.
    #[must_use]
    pub fn store(
        target: ListTarget,
        system: u64,
        element: u32,
        entries: impl IntoIterator<Item = (u32, u32)>,
    ) -> Self {
        Self {
            direction: Direction::Store,
            ..Self::load(target, system, element, entries)
        }
    }

    /// Posts a CP2 event at completion.
    #[must_use]
    pub fn event(mut self, event: u32) -> Self {
        self.event = Some(event);
        self
    }
}

impl Transfer for ListTransfer {
    fn direction(&self) -> Direction {
        self.direction
    }

    fn event(&self) -> Option<u32> {
        self.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        let turns = (0..machine.cp2.sections.max(1) as u32).cycle();
        self.entries
            .iter()
            .zip(turns)
            .map(|(&(system, local), turn)| Run {
                system: self.system.saturating_add(system.into()),
                local,
                bytes: self.element.into(),
                to: Recipient::Section(match self.target {
                    ListTarget::Section(section) => section,
                    ListTarget::Deal => turn,
                }),
            })
    }

    fn check(&self, machine: &Machine) -> Result<(), DescriptorError> {
        if !machine.cp2.extensions.contains(Extensions::LIST_TRANSFERS) {
            return Err(DescriptorError {
                field: Field::Kind,
                value: FieldValue::Name("list"),
                rule: Rule::StridedOnly,
                nearest: None,
            });
        }
        if !matches!(self.element, 4 | 8 | 16) {
            return refuse(Field::Element, self.element.into(), Rule::ElementSize);
        }
        if self.entries.is_empty() {
            return refuse(Field::Entries, 0, Rule::AtLeast(1));
        }
        check_runs(self, machine)
    }

    fn schedule(&self, machine: &Machine) -> Schedule {
        Schedule::of_list(self.runs(machine), self.entries.len() as u64, machine)
    }
}

/// For traces: `load list 0x1000 -> section 2: 8 B x 1024, event 3`.
impl fmt::Display for ListTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.direction {
            Direction::Load => "->",
            Direction::Store => "<-",
        };
        let (direction, system) = (self.direction, self.system);
        write!(f, "{direction} list {system:#x} {arrow} ")?;
        match self.target {
            ListTarget::Section(section) => write!(f, "section {section}")?,
            ListTarget::Deal => f.write_str("deal")?,
        }
        write!(f, ": {} B x {}", self.element, self.entries.len())?;
        match self.event {
            Some(event) => write!(f, ", event {event}"),
            None => Ok(()),
        }
    }
}
