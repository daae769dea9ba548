//! Arrays of the user as they lie in system memory, and as kernels page them.
//!
//! A kernel may want rows at other distances than the user's array has them, zeros between or before them, or
//! more rows. Where all of that is whole granules, transfers see to it (a *view*, see [`Views`]); else a
//! pass puts the rows elsewhere first, or back afterwards (a *relayout*). Either is in the simulated time.
//!
//! [`Views`]: cp2_host::Views

use super::{Job, JobError, KernelInput, load};
use crate::relayout::{CompiledRelayout, PAGE, Relayout, RowOrigin, SourceOfWord, WORD};
use cp2_host::{Buffer, Gap, MemoryElement, ViewRows};
use cp2_machine::Machine;

/// The rows of a batch of `count` in kernels' arrays of `rows` rows: `len` bytes each, `pitch` apart.
pub(crate) fn rows(count: usize, len: u64, (rows, pitch): (usize, u64)) -> ViewRows {
    ViewRows {
        start: 0,
        count: count as u64,
        bytes: len,
        pitch,
        total: (rows as u64).saturating_mul(pitch),
    }
}

/// An output that kernels store, and what is left to do with it.
#[derive(Debug)]
#[must_use = "`Job::deliver` puts the results into the user's array"]
pub(crate) struct Stored<T> {
    /// The user's array.
    pub(crate) buffer: Buffer<T>,
    /// Where kernels store.
    pub(crate) address: u64,
    /// How the one becomes the other.
    relayouts: Vec<CompiledRelayout>,
}

impl Job {
    /// An array of the user whose rows lie as `own` says, for a kernel that wants them as `wanted` says and zeros elsewhere: the
    /// address to load from.
    ///
    /// # Errors
    /// System memory is used up, or a kernel does not run on the machine.
    pub(crate) fn rows_in<T: MemoryElement>(
        &mut self,
        (name, given, shape): (&str, KernelInput<'_, T>, &[u64]),
        own: ViewRows,
        wanted: ViewRows,
    ) -> Result<u64, JobError> {
        let x = given.place(self, name, shape)?;
        self.rows_as(x.address(), own, wanted)
    }

    /// The rows of an array that is there, for a kernel that wants them otherwise.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn rows_as(
        &mut self,
        address: u64,
        own: ViewRows,
        wanted: ViewRows,
    ) -> Result<u64, JobError> {
        let granule = self.machine().dma.granule.0;
        let [own, wanted] = joined([own, wanted]);
        if lies(own, wanted, granule) {
            return Ok(address);
        }
        if steps(own, granule) && wanted.is_aligned(granule) {
            let end = wanted.start + wanted.count.saturating_sub(1) * wanted.pitch + wanted.bytes;
            let gaps = [
                wanted.start,
                wanted.pitch - wanted.bytes.min(wanted.pitch),
                wanted.total - end.min(wanted.total),
            ];
            let (address_of, bytes) = self.zeros(gaps.into_iter().max().unwrap_or(0))?;
            let rest = Gap::Zeros {
                address: address_of,
                bytes,
            };
            return Ok(self
                .views
                .add(wanted, (address + own.start, own.pitch), rest, granule));
        }
        if let Some(couples) = OddRowPairs::new(own, wanted, granule) {
            return self.couples_as(address, couples);
        }
        let placed = self.temporary::<u8>(wanted.total.max(wanted.count * wanted.pitch))?;
        let [start, bytes, from] = [wanted.start, wanted.bytes, own.start].map(|n| n / WORD);
        let word = |at: u64| match at.checked_sub(start) {
            Some(at) if at < bytes => SourceOfWord::Of(0, from + at),
            _ => SourceOfWord::Zero,
        };
        let (from, to) = (
            RowOrigin::new(address, own.pitch),
            RowOrigin::new(placed.address(), wanted.pitch),
        );
        self.relayouted(&Relayout {
            name: "rows as the kernel takes them",
            from: &[from],
            to,
            words: wanted.count * wanted.pitch / WORD,
            word: &word,
        })?;
        Ok(placed.address())
    }

    /// An array of the user for results, whose rows will lie as `own` says, of a kernel that stores them as `made` says and may
    /// store anything elsewhere.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn rows_out<T: MemoryElement>(
        &mut self,
        (name, shape): (&str, &[u64]),
        own: ViewRows,
        made: ViewRows,
    ) -> Result<Stored<T>, JobError> {
        let buffer = self.output::<T>(name, shape)?;
        self.rows_to(buffer, own, made)
    }

    /// The same for results in an array that is there.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn rows_to<T: MemoryElement>(
        &mut self,
        buffer: Buffer<T>,
        own: ViewRows,
        made: ViewRows,
    ) -> Result<Stored<T>, JobError> {
        let granule = self.machine().dma.granule.0;
        let [own, made] = joined([own, made]);
        let stored = |address| Stored {
            buffer,
            address,
            relayouts: Vec::new(),
        };
        if lies(own, made, granule) {
            return Ok(stored(buffer.address()));
        }
        if steps(own, granule) && made.is_aligned(granule) {
            let place = (buffer.address() + own.start, own.pitch);
            return Ok(stored(self.views.add(made, place, Gap::Nothing, granule)));
        }
        if let Some(couples) = OddRowPairs::new(own, made, granule) {
            return self.couples_to(buffer, couples);
        }
        let placed = self.temporary::<u8>(made.total.max(made.start + made.count * made.pitch))?;
        let [start, bytes, from] = [own.start, own.bytes, made.start].map(|n| n / WORD);
        let word = |at: u64| match at.checked_sub(start) {
            Some(at) if at < bytes => SourceOfWord::Of(0, from + at),
            _ => SourceOfWord::Any,
        };
        let (from, to) = (
            RowOrigin::new(placed.address(), made.pitch),
            RowOrigin::new(buffer.address(), own.pitch),
        );
        let relayout = Relayout {
            name: "rows as the user has them",
            from: &[from],
            to,
            words: (own.count.saturating_sub(1) * own.pitch + own.start + own.bytes) / WORD,
            word: &word,
        };
        let relayout = relayout.make(self.machine())?;
        Ok(Stored {
            buffer,
            address: placed.address(),
            relayouts: vec![relayout],
        })
    }

    /// An array of the user for results, of a kernel that stores other rows, `from` so many bytes in all: `word` says which
    /// of their words one of the user's is, in rows of so many words there and here; so many words in all.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn words_out<T: MemoryElement>(
        &mut self,
        (name, shape): (&str, &[u64]),
        bytes: u64,
        (words, from, to): (u64, u64, u64),
        word: &dyn Fn(u64) -> SourceOfWord,
    ) -> Result<Stored<T>, JobError> {
        let buffer = self.output::<T>(name, shape)?;
        let stored = self.words_to(buffer.address(), bytes, (words, from, to), word)?;
        Ok(Stored { buffer, ..stored })
    }

    /// The same for results at an address.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn words_to<T: MemoryElement>(
        &mut self,
        address: u64,
        bytes: u64,
        (words, from, to): (u64, u64, u64),
        word: &dyn Fn(u64) -> SourceOfWord,
    ) -> Result<Stored<T>, JobError> {
        let placed = self.temporary::<u8>(bytes)?;
        let place = |address, pitch| RowOrigin { address, pitch };
        let relayout = Relayout {
            name: "results as the user has them",
            from: &[place(placed.address(), from)],
            to: place(address, to),
            words,
            word,
        };
        Ok(Stored {
            buffer: Buffer::from_address(address, words * WORD / T::BYTES as u64),
            address: placed.address(),
            relayouts: vec![relayout.make(self.machine())?],
        })
    }

    /// An array of the user for a kernel that loads other rows, from an array of so many bytes: `word` says which of the user's words
    /// one of theirs is, in rows of so many words there and here; so many words in all.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn words_in<T: MemoryElement>(
        &mut self,
        (name, given, shape): (&str, KernelInput<'_, T>, &[u64]),
        bytes: u64,
        (words, from, to): (u64, u64, u64),
        word: &dyn Fn(u64) -> SourceOfWord,
    ) -> Result<u64, JobError> {
        let x = given.place(self, name, shape)?;
        self.words_as(x.address(), bytes, (words, from, to), word)
    }

    /// The same of an array that is there.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn words_as(
        &mut self,
        address: u64,
        bytes: u64,
        (words, from, to): (u64, u64, u64),
        word: &dyn Fn(u64) -> SourceOfWord,
    ) -> Result<u64, JobError> {
        let placed = self.temporary::<u8>(bytes.max(words * WORD))?;
        let place = |address, pitch| RowOrigin { address, pitch };
        self.relayouted(&Relayout {
            name: "numbers as the kernel takes them",
            from: &[place(address, from)],
            to: place(placed.address(), to),
            words,
            word,
        })?;
        Ok(placed.address())
    }

    /// Puts results into the user's array, when the passes that make them have been added.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn deliver<T>(&mut self, stored: Stored<T>) -> Result<Buffer<T>, JobError> {
        for relayout in stored.relayouts {
            relayout.append(self)?;
        }
        Ok(stored.buffer)
    }

    /// A table of zeros for gaps of so many bytes: its address and bytes.
    fn zeros(&mut self, gap: u64) -> Result<(u64, u64), JobError> {
        let machine = self.machine();
        let granule = machine.dma.granule.0.max(1);
        let bytes = gap.min(machine.cp2.dmem.0).next_multiple_of(granule);
        Ok((self.temporary::<u8>(bytes)?.address(), bytes))
    }

    /// Couples of rows for a kernel that loads them: first rows but their last number as they lie, these and second rows put elsewhere.
    fn couples_as(&mut self, address: u64, couples: OddRowPairs) -> Result<u64, JobError> {
        let placed = self.temporary::<u8>(couples.count() * couples.rest())?;
        let [own, wanted] = [couples.own, couples.kernel].map(|rows| rows.pitch / WORD);
        let whole = couples.whole() / WORD;
        // A couple's words from the last number of its first row on.
        let word = |at: u64| match (at < PARTS, (whole + at).checked_sub(wanted)) {
            (true, _) => SourceOfWord::Of(0, whole + at),
            (_, Some(at)) if at < own => SourceOfWord::Of(0, own + at),
            _ => SourceOfWord::Zero,
        };
        let words = [couples.rest(), couples.kernel.pitch - couples.whole()].map(|n| n / WORD);
        self.relayouted(&Relayout {
            name: "odd rows as the kernel takes them",
            from: &[RowOrigin::new(address, 2 * couples.own.pitch)],
            to: RowOrigin::new(placed.address(), couples.rest()),
            words: couples.own.count / 2 * words[0] + couples.own.count % 2 * words[1],
            word: &word,
        })?;
        let zeros = self.zeros(couples.kernel.total)?;
        Ok(couples.view(self, address, placed.address(), Some(zeros)))
    }

    /// Couples of rows of a kernel that stores them.
    fn couples_to<T: MemoryElement>(
        &mut self,
        buffer: Buffer<T>,
        couples: OddRowPairs,
    ) -> Result<Stored<T>, JobError> {
        let placed = self.temporary::<u8>(couples.count() * couples.rest())?;
        let [own, made] = [couples.own, couples.kernel].map(|rows| rows.pitch / WORD);
        let whole = couples.whole() / WORD;
        let word = |at: u64| match at.checked_sub(own) {
            _ if at < whole => SourceOfWord::Any,
            None => SourceOfWord::Of(0, at - whole),
            Some(at) => SourceOfWord::Of(0, made - whole + at),
        };
        let relayout = Relayout {
            name: "odd rows as the user has them",
            from: &[RowOrigin::new(placed.address(), couples.rest())],
            to: RowOrigin::new(buffer.address(), 2 * couples.own.pitch),
            words: couples.own.count * own,
            word: &word,
        };
        let relayouts = vec![relayout.make(self.machine())?];
        let address = couples.view(self, buffer.address(), placed.address(), None);
        Ok(Stored {
            buffer,
            address,
            relayouts,
        })
    }

    /// Adds the passes of a relayout.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn relayouted(&mut self, relayout: &Relayout<'_>) -> Result<(), JobError> {
        relayout.make(self.machine())?.append(self)
    }
}

/// Words of a number whose halves no granule has whole numbers of: a complex one.
const PARTS: u64 = 2;

/// Rows of an odd number of complex numbers that follow each other, two by two: the first begins at a granule, and all of it but its
/// last number is whole granules.
#[derive(Clone, Copy, Debug)]
struct OddRowPairs {
    own: ViewRows,
    kernel: ViewRows,
}

impl OddRowPairs {
    /// If they are, and the kernel's rows are whole granules.
    fn new(own: ViewRows, kernel: ViewRows, granule: u64) -> Option<Self> {
        let odd = own.start == 0
            && own.pitch == own.bytes
            && own.bytes % granule.max(1) == PARTS * WORD
            && granule == PARTS * 2 * WORD;
        let whole = |bytes: u64| bytes.is_multiple_of(granule.max(1));
        let aligned = whole(kernel.start) && whole(kernel.pitch);
        (odd && aligned && own.count > 1).then_some(Self { own, kernel })
    }

    fn count(self) -> u64 {
        self.own.count.div_ceil(2)
    }

    /// Bytes of a first row that stay where they are.
    fn whole(self) -> u64 {
        self.own.bytes - PARTS * WORD
    }

    /// Bytes of the rest of a couple of the kernel's rows.
    fn rest(self) -> u64 {
        2 * self.kernel.pitch - self.whole()
    }

    /// The kernel's rows, of which the rest of each couple lies at `rest`.
    fn view(self, job: &mut Job, first: u64, rest: u64, zeros: Option<(u64, u64)>) -> u64 {
        let rows = ViewRows {
            count: self.count(),
            bytes: self.whole(),
            pitch: 2 * self.kernel.pitch,
            ..self.kernel
        };
        let rest = Gap::Elsewhere {
            address: rest,
            pitch: self.rest(),
            zeros,
        };
        let granule = job.machine().dma.granule.0;
        job.views
            .add(rows, (first, 2 * self.own.pitch), rest, granule)
    }
}

impl<T: MemoryElement> Stored<T> {
    /// The same for a kernel whose results become those of `other`, which stores where these are expected.
    pub(crate) fn retarget<U>(self, mut other: Stored<U>) -> Self {
        other.relayouts.extend(self.relayouts);
        Self {
            address: other.address,
            relayouts: other.relayouts,
            buffer: self.buffer,
        }
    }
}

/// Rows that follow each other both here and there are one.
fn joined([own, wanted]: [ViewRows; 2]) -> [ViewRows; 2] {
    let adjacent = |rows: ViewRows| rows.pitch == rows.bytes;
    match adjacent(own) && adjacent(wanted) {
        true => [own.joined(), wanted.joined()],
        false => [own, wanted],
    }
}

/// Where the user's array has nothing but rows: the end of the last one, or if the array ends there too, of its granule.
fn end(own: ViewRows, granule: u64) -> u64 {
    let last = own.start + own.count.saturating_sub(1) * own.pitch + own.bytes;
    match own.total <= last {
        true => last.next_multiple_of(granule.max(1)),
        false => last,
    }
}

/// Whether rows lie as they are wanted, with nothing wanted beside them that is not theirs: no gaps, whatever lies there.
fn lies(own: ViewRows, wanted: ViewRows, granule: u64) -> bool {
    let one = own.count == 1 && wanted.count == 1;
    own.start == wanted.start
        && (one || own.pitch == wanted.pitch && wanted.pitch == wanted.bytes)
        && wanted.total <= end(own, granule)
}

/// Whether transfers move the user's rows and nothing beside them: whole granules, or one row with which the array ends.
fn steps(own: ViewRows, granule: u64) -> bool {
    let last = own.start + own.count.saturating_sub(1) * own.pitch + own.bytes;
    own.is_aligned(granule) && end(own, granule) >= last.next_multiple_of(granule.max(1))
}

/// Expected cycles of what [`Job::rows_as`] adds for a kernel that loads, or [`Job::rows_to`] for one that stores: a relayout loads
/// every byte of the one array, stores the other's, and has a program, a launch and ends of its own.
pub(crate) fn expected(own: ViewRows, kernels: ViewRows, machine: &Machine) -> f64 {
    let granule = machine.dma.granule.0;
    let [own, kernels] = joined([own, kernels]);
    if lies(own, kernels, granule) || (steps(own, granule) && kernels.is_aligned(granule)) {
        return 0.0;
    }
    let [from, to] = [own, kernels].map(|rows| rows.count.saturating_mul(rows.pitch));
    match OddRowPairs::new(own, kernels, granule) {
        Some(_) => relayout_cycles((from + to) / 2, machine),
        None => relayout_cycles(from + to, machine),
    }
}

/// Expected cycles of a relayout that loads and stores so many bytes together: the channel's time or the control CPU's for
/// the transfers, and its program, launch and ends.
pub(crate) fn relayout_cycles(bytes: u64, machine: &Machine) -> f64 {
    let host = &machine.host;
    let ends = host.launch.0 + 2 * host.completion.0 + ENDS * host.descriptor.0;
    let page = 2 * PAGE * machine.cp2.sections.max(1) as u64;
    let transfers = TRANSFERS * bytes.div_ceil(page);
    let given = transfers.saturating_mul(host.descriptor.0);
    load(bytes, machine).max(given as f64) + load(PROGRAM, machine) + ends as f64
}

/// Transfers of a page, and of what is loaded before the first and stored after the last.
const TRANSFERS: u64 = 2;
const ENDS: u64 = 12;
/// Bytes of the program of a relayout, about.
const PROGRAM: u64 = 1600;

impl RowOrigin {
    /// Rows of so many bytes from one to the next.
    pub(crate) fn new(address: u64, pitch: u64) -> Self {
        Self {
            address,
            pitch: pitch / WORD,
        }
    }
}
