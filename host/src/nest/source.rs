//! A nest as device commands.

use super::args::{SECTION_FILLED, SECTION_ORIGIN};
use super::compile::broadcast;
use super::plan::Nest;
use crate::device::{Buffer, Device, Event, HostError, Placed};
use crate::page_source::{Ending, PageKernel, PageSource, PageWork, Paged};
use cp2_dma::{Descriptor, Direction, Target};
use cp2_emu::Protection;
use std::collections::HashMap;
use std::sync::Arc;

/// The argument blocks of a nest in system memory, ready to be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct NestArguments {
    /// Where those of each page lie that are loaded with it; behind the last page those of a reduction's end.
    all: Vec<Option<Buffer<u32>>>,
    /// Whether each section has a block of its own.
    apart: bool,
}

/// What pages of a nest move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NestWork<'a> {
    nest: &'a Nest,
    arguments: &'a NestArguments,
    names: [Vec<Arc<str>>; 2],
    moved: Vec<(usize, Descriptor)>,
}

impl PageWork for NestWork<'_> {
    fn pages(&self) -> u64 {
        self.nest.len()
    }

    fn degree(&self) -> usize {
        self.nest.degree()
    }

    fn name(&self, direction: Direction, stream: usize) -> Arc<str> {
        let names = &self.names[usize::from(direction == Direction::Store)];
        names.get(stream).cloned().unwrap_or_else(|| "page".into())
    }

    fn transfers(&mut self, direction: Direction, k: u64) -> &[(usize, Descriptor)] {
        self.moved = self.nest.transfers(direction, k);
        &self.moved
    }

    fn launched(&self) -> Option<(Descriptor, u32)> {
        Some((self.load(0)?, self.nest.first_arguments()))
    }

    fn arguments(&self, k: u64) -> Option<Descriptor> {
        if k == 0 { None } else { self.load(k) }
    }

    fn protection(&self) -> Protection {
        self.nest.protection()
    }

    fn ending(&self) -> Option<Ending> {
        let (nest, partials) = (self.nest, self.nest.sweep.partials?);
        let field = nest.sweep.outputs.first()?;
        let (place, bytes) = (*nest.places.last()?.first()?, *nest.bytes.last()?);
        let stride = i64::try_from(bytes).unwrap_or(i64::MAX);
        let whole = field.strips.first()?;
        Some(Ending {
            partials: Descriptor::store(Target::Blocks { stride }, partials, place, bytes),
            arguments: self.load(nest.len())?,
            all: broadcast(partials, nest.gathered, bytes * nest.cuts.sections),
            result: Descriptor::store(
                Target::Section(0),
                whole.system,
                place,
                whole.to.unsigned_abs(),
            ),
        })
    }

    fn is_regular(&self) -> bool {
        false
    }
}

impl NestWork<'_> {
    fn load(&self, k: u64) -> Option<Descriptor> {
        let nest = self.nest;
        let image = (*self.arguments.all.get(usize::try_from(k).ok()?)?)?;
        let slot = nest.slots[(k % nest.slots.len() as u64) as usize];
        let bytes = nest.layout.bytes();
        let target = match self.arguments.apart {
            true => Target::Blocks {
                stride: bytes.into(),
            },
            false => Target::Broadcast,
        };
        Some(Descriptor::load(
            target,
            image.address(),
            slot - nest.layout.before,
            bytes.into(),
        ))
    }
}

impl Device {
    /// Sends the pages of a nest through a kernel: loads the program `placed` and the tables, writes the arguments, gives the commands.
    ///
    /// # Errors
    /// System memory is used up, or a command can never be carried out.
    pub fn sweep(
        &mut self,
        nest: &Nest,
        placed: &Placed,
        entry: u32,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let arguments = self.nest_arguments(nest)?;
        let loaded = self.load(placed, after)?;
        let kernel = PageKernel {
            name: placed.name.clone(),
            entry,
        };
        self.sweeps(nest, &kernel, &arguments, &[loaded])
    }

    /// The same of a kernel that is loaded and arguments that are written, or will be when `after` is complete.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn sweeps(
        &mut self,
        nest: &Nest,
        kernel: &PageKernel,
        arguments: &NestArguments,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let mut after = after.to_vec();
        for (table, &at) in nest.sweep.tables.iter().zip(&nest.tables) {
            let granule = self.machine().dma.granule.0.max(1);
            let load = broadcast(table.system, at, table.bytes.next_multiple_of(granule));
            after.push(self.dma(&table.name, load, &after.clone())?);
        }
        let work = NestWork {
            nest,
            arguments,
            names: [&nest.sweep.inputs, &nest.sweep.outputs].map(|streams| {
                streams
                    .iter()
                    .map(|field| field.name.as_str().into())
                    .collect()
            }),
            moved: Vec::new(),
        };
        let mut stopped = None;
        let (stored, _) = self.stream_turns(|first| {
            stopped = Some(PageSource::<NestWork<'_>>::launch(first));
            PageSource::of(work, kernel, first, &after)
        })?;
        Ok(Paged {
            stored,
            stopped: stopped.unwrap_or(stored),
        })
    }

    /// Writes the argument blocks of a nest to system memory, before time begins: they are part of the memory image, like a program.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn nest_arguments(&mut self, nest: &Nest) -> Result<NestArguments, HostError> {
        let apart = (SECTION_ORIGIN..SECTION_FILLED + 16).any(|at| nest.sweep.reads.has(at));
        let block = nest.layout.bytes() as usize / 4;
        let mut known: HashMap<Vec<u32>, Buffer<u32>> = HashMap::new();
        let count = nest.len() + u64::from(nest.sweep.partials.is_some());
        let mut all = Vec::new();
        for k in 0..count {
            if k > 0 && !nest.changes_arguments(k) {
                all.push(None);
                continue;
            }
            let mut words = nest.arguments(k);
            if !apart {
                words.truncate(block);
            }
            let buffer = match known.get(&words) {
                Some(&buffer) => buffer,
                None => {
                    let buffer = self.alloc_from(&words)?;
                    known.insert(words, buffer);
                    buffer
                }
            };
            all.push(Some(buffer));
        }
        Ok(NestArguments { all, apart })
    }
}
