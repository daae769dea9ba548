//! A grid plan as a source of pages for the engine.

use super::argument_words::{SECTION_FILLED, SECTION_ORIGIN};
use super::field::GridField;
use super::grid_plan::GridPlan;
use super::transfers::broadcast;
use crate::device::{Buffer, Device, Event, HostError, PlacedProgram};
use crate::paging::{
    CommandSink, Launch, PAGE_EVENT, PageKernel, PageMessage, PageSource, Paged, ReductionEnd,
};
use cp2_dma::{Descriptor, Direction, Target};
use std::collections::HashMap;
use std::sync::Arc;

/// The argument blocks of a nest in system memory, ready to be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct NestArguments {
    /// Argument blocks that are loaded with each page; behind those of the last page, the ones of a
    /// reduction's end.
    all: Vec<Option<Buffer<u32>>>,
    /// True if each section has a block of its own.
    apart: bool,
}

/// Pages of a nest, and the transfers of each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NestWork<'a> {
    nest: &'a GridPlan,
    images: &'a NestArguments,
    /// Messages that leave when pages are stored.
    messages: &'a [PageMessage],
    names: [Vec<Arc<str>>; 2],
    arguments_name: Arc<str>,
    page: Arc<str>,
}

impl PageSource for NestWork<'_> {
    fn pages(&self) -> u64 {
        self.nest.len()
    }

    fn period(&self) -> Option<u64> {
        None
    }

    fn next(&self, page: Option<u64>) -> Vec<u64> {
        let from = page.map_or(0, |page| page + 1);
        let to = from.saturating_add(self.nest.degree() as u64);
        let turn = |next: &u64| self.nest.find_preceding_page(*next) == page;
        (from..to.min(self.pages())).filter(turn).collect()
    }

    fn launch(&self) -> Option<Launch> {
        Some(Launch {
            arguments: Some(self.arguments(0)?),
            address: self.nest.first_arguments(),
            protection: Some(Arc::new(self.nest.protection())),
            loads_first: false,
        })
    }

    fn load(&mut self, page: u64, to: &mut CommandSink<'_>) {
        if let Some(load) = self.arguments(page).filter(|_| page > 0) {
            to.dma(&self.arguments_name, Some(page), load);
        }
        self.moves(Direction::Load, page, to);
        to.announce(&self.page, page, PAGE_EVENT);
    }

    fn store(&mut self, page: u64, to: &mut CommandSink<'_>) {
        self.moves(Direction::Store, page, to);
        for message in self.messages.iter().filter(|one| one.page == page) {
            to.send(message);
        }
    }

    fn signal(&self) -> u32 {
        PAGE_EVENT
    }

    fn ending(&self) -> Option<ReductionEnd> {
        let (nest, partials) = (self.nest, self.nest.sweep.partials?);
        let field = nest.sweep.outputs.first()?;
        let (place, bytes) = (*nest.places.last()?.first()?, *nest.bytes.last()?);
        let stride = i64::try_from(bytes).unwrap_or(i64::MAX);
        Some(ReductionEnd {
            partials: Descriptor::store(Target::Blocks { stride }, partials, place, bytes),
            arguments: self.arguments(nest.len())?,
            all: Descriptor {
                event: Some(PAGE_EVENT),
                ..broadcast(partials, nest.gathered, bytes * nest.cuts.sections)
            },
            result: nest.result.clone(),
            name: field.name.as_str().into(),
        })
    }
}

impl<'a> NestWork<'a> {
    pub(crate) fn new(
        nest: &'a GridPlan,
        images: &'a NestArguments,
        messages: &'a [PageMessage],
    ) -> Self {
        let all = |streams: &[GridField]| {
            streams
                .iter()
                .map(|field| field.name.as_str().into())
                .collect()
        };
        Self {
            nest,
            images,
            messages,
            names: [all(&nest.sweep.inputs), all(&nest.sweep.outputs)],
            arguments_name: "arguments".into(),
            page: "page".into(),
        }
    }

    fn moves(&self, direction: Direction, page: u64, to: &mut CommandSink<'_>) {
        let names = &self.names[usize::from(direction == Direction::Store)];
        for (stream, transfer) in self.nest.transfers(direction, page) {
            to.dma(
                names.get(stream).unwrap_or(&self.page),
                Some(page),
                transfer,
            );
        }
    }

    /// Returns the load of arguments that comes with page `k`, or with the end of a reduction.
    fn arguments(&self, k: u64) -> Option<Descriptor> {
        let nest = self.nest;
        let image = (*self.images.all.get(usize::try_from(k).ok()?)?)?;
        let slot = nest.slots[(k % nest.slots.len() as u64) as usize];
        let bytes = nest.layout.bytes();
        let target = match self.images.apart {
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
    /// Sends the pages of a nest through a kernel: loads the program `placed` and the tables, writes the
    /// arguments, gives the commands.
    ///
    /// # Errors
    /// System memory is used up, or a command can never be carried out.
    pub fn sweep(
        &mut self,
        nest: &GridPlan,
        placed: &PlacedProgram,
        entry: u32,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let arguments = self.nest_arguments(nest)?;
        let loaded = self.load(placed, after)?;
        let kernel = PageKernel {
            name: placed.name.clone(),
            entry,
        };
        self.sweeps(nest, &kernel, &arguments, &[loaded], &[])
    }

    /// Sends the pages of a nest through a kernel that is loaded, with arguments that are written, or will be
    /// when `after` is complete. `messages` leave when their pages are stored.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn sweeps(
        &mut self,
        nest: &GridPlan,
        kernel: &PageKernel,
        arguments: &NestArguments,
        after: &[Event],
        messages: &[PageMessage],
    ) -> Result<Paged, HostError> {
        if let Some(short) = nest.bytes_short() {
            self.single_buffered(&kernel.name, short);
        }
        let mut after = after.to_vec();
        for (table, &at) in nest.sweep.tables.iter().zip(&nest.tables) {
            let granule = self.machine().dma.granule.0.max(1);
            let load = broadcast(table.system, at, table.bytes.next_multiple_of(granule));
            after.push(self.dma(&table.name, load, &after.clone())?);
        }
        self.paged(NestWork::new(nest, arguments, messages), kernel, &after)
    }

    /// Writes the argument blocks of a nest to system memory before time begins, as part of the memory image,
    /// like a program.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn nest_arguments(&mut self, nest: &GridPlan) -> Result<NestArguments, HostError> {
        let apart = (SECTION_ORIGIN..SECTION_FILLED + 16).any(|at| nest.sweep.reads.is_read(at));
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
