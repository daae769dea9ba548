//! Arrays of the user as they lie in system memory, and as kernels page them.
//!
//! A kernel may want rows at other distances than the user's array has them, zeros between or before them, or
//! more rows. Where all of that is in whole granules, transfers alone provide it (a *view*, see [`Views`]);
//! otherwise a pass puts the rows elsewhere first, or back afterwards (a *relayout*). Either is in the
//! simulated time.
//!
//! [`Views`]: cp2_host::Views

use super::{Job, JobError, KernelInput, load};
use crate::relayout::{CompiledRelayout, PAGE, Relayout, RowOrigin, SourceOfWord, WORD};
use cp2_host::{Buffer, Gap, MemoryElement, ViewRows};
use cp2_machine::Machine;

/// Describes the rows of a batch of `count` in a kernel's array of `rows` rows: `len` bytes each, `pitch`
/// bytes apart.
pub(crate) fn rows(count: usize, len: u64, (rows, pitch): (usize, u64)) -> ViewRows {
    ViewRows {
        start: 0,
        count: count as u64,
        bytes: len,
        pitch,
        total: (rows as u64).saturating_mul(pitch),
    }
}

/// An output array as kernels store it, and the relayouts that turn it into the user's.
#[derive(Debug)]
#[must_use = "`Job::deliver` puts the results into the user's array"]
pub(crate) struct Stored<T> {
    /// The user's array.
    pub(crate) buffer: Buffer<T>,
    /// Address at which kernels store.
    pub(crate) address: u64,
    /// Passes that make the user's array of what kernels stored.
    relayouts: Vec<CompiledRelayout>,
}

impl Job {
    /// Places an array of the user for a kernel that wants its rows in another layout.
    ///
    /// The user's rows lie as `own` says; the kernel wants them as `wanted` says, and zeros elsewhere.
    /// Returns the address to load from.
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

    /// Provides the rows of an array in system memory in the layout that a kernel wants.
    ///
    /// The rows lie as `own` says; the kernel wants them as `wanted` says, and zeros elsewhere. Returns the
    /// address to load from: that of the array, of a view, or of a copy that a relayout makes.
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

    /// Allocates an array of the user for results of a kernel that stores rows in another layout.
    ///
    /// The user's rows will lie as `own` says; the kernel stores them as `made` says and may store anything
    /// elsewhere.
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

    /// Prepares an array in system memory for results of a kernel that stores rows in another layout.
    ///
    /// The rows will lie as `own` says; the kernel stores them as `made` says and may store anything
    /// elsewhere.
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
        let relayout = relayout.compile(self.machine())?;
        Ok(Stored {
            buffer,
            address: placed.address(),
            relayouts: vec![relayout],
        })
    }

    /// Allocates an array of the user for results that a kernel stores as other rows, in `bytes` bytes.
    ///
    /// `words` is the number of words of the user's array; rows are `from` words long in the kernel's array
    /// and `to` words in the user's. For each word of a user's row, `word` names the word of the kernel's row
    /// that it is.
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

    /// Prepares the results at `address` from other rows that a kernel stores, in `bytes` bytes.
    ///
    /// `words` is the number of words of the result; rows are `from` words long in the kernel's array and
    /// `to` words in the result. For each word of a row of the result, `word` names the word of the kernel's
    /// row that it is.
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
            relayouts: vec![relayout.compile(self.machine())?],
        })
    }

    /// Places an array of the user for a kernel that loads other rows, from an array of `bytes` bytes.
    ///
    /// `words` is the number of words of the kernel's array; rows are `from` words long in the user's array
    /// and `to` words in the kernel's. For each word of a kernel's row, `word` names the word of the user's
    /// row that it is. Returns the address to load from.
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

    /// Copies an array in system memory into other rows that a kernel loads, in `bytes` bytes.
    ///
    /// `words` is the number of words of the copy; rows are `from` words long in the array and `to` words in
    /// the copy. For each word of a row of the copy, `word` names the word of the array's row that it is.
    /// Returns the address of the copy.
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

    /// Puts results into the user's array, once the passes that make them have been added.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn deliver<T>(&mut self, stored: Stored<T>) -> Result<Buffer<T>, JobError> {
        for relayout in stored.relayouts {
            relayout.append(self)?;
        }
        Ok(stored.buffer)
    }

    /// Allocates a table of zeros for gaps of so many bytes; returns its address and bytes.
    fn zeros(&mut self, gap: u64) -> Result<(u64, u64), JobError> {
        let machine = self.machine();
        let granule = machine.dma.granule.0.max(1);
        let bytes = gap.min(machine.cp2.dmem.0).next_multiple_of(granule);
        Ok((self.temporary::<u8>(bytes)?.address(), bytes))
    }

    /// Provides pairs of odd rows for a kernel that loads them.
    ///
    /// All of a first row but its last number is loaded from where it lies; this number and the second row
    /// are copied elsewhere.
    fn couples_as(&mut self, address: u64, couples: OddRowPairs) -> Result<u64, JobError> {
        let placed = self.temporary::<u8>(couples.count() * couples.rest())?;
        let [own, wanted] = [couples.own, couples.kernel].map(|rows| rows.pitch / WORD);
        let whole = couples.whole() / WORD;
        // Words of the copy: the last number of the first row, then the second row, then zeros.
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

    /// Prepares an array of pairs of odd rows for a kernel that stores them.
    ///
    /// All of a first row but its last number is stored to its place; this number and the second row are
    /// stored elsewhere and copied back.
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
        let relayouts = vec![relayout.compile(self.machine())?];
        let address = couples.view(self, buffer.address(), placed.address(), None);
        Ok(Stored {
            buffer,
            address,
            relayouts,
        })
    }

    /// Adds the passes of a relayout to the job.
    ///
    /// # Errors
    /// See [`Job::rows_in`].
    pub(crate) fn relayouted(&mut self, relayout: &Relayout<'_>) -> Result<(), JobError> {
        relayout.compile(self.machine())?.append(self)
    }
}

/// Words of a complex number, which is half of a granule of 16 bytes.
const PARTS: u64 = 2;

/// Contiguous rows of an odd number of complex numbers, taken in pairs.
///
/// The first row of a pair begins at a granule, and all of it but its last number is whole granules.
#[derive(Clone, Copy, Debug)]
struct OddRowPairs {
    /// Rows of the user's array.
    own: ViewRows,
    /// Rows as the kernel has them.
    kernel: ViewRows,
}

impl OddRowPairs {
    /// Returns the pairs if the user's rows are of this kind, there are at least two, and the kernel's rows
    /// are whole granules.
    fn new(own: ViewRows, kernel: ViewRows, granule: u64) -> Option<Self> {
        let odd = own.start == 0
            && own.pitch == own.bytes
            && own.bytes % granule.max(1) == PARTS * WORD
            && granule == PARTS * 2 * WORD;
        let whole = |bytes: u64| bytes.is_multiple_of(granule.max(1));
        let aligned = whole(kernel.start) && whole(kernel.pitch);
        (odd && aligned && own.count > 1).then_some(Self { own, kernel })
    }

    /// Returns the number of pairs; a last row without a partner counts as one.
    fn count(self) -> u64 {
        self.own.count.div_ceil(2)
    }

    /// Returns the bytes of a first row that stay where they are.
    fn whole(self) -> u64 {
        self.own.bytes - PARTS * WORD
    }

    /// Returns the bytes that are copied for a pair: its last number, the second row and the kernel's
    /// padding.
    fn rest(self) -> u64 {
        2 * self.kernel.pitch - self.whole()
    }

    /// Adds the view of the kernel's rows: whole granules of first rows at `first`, the rest of each pair at
    /// `rest`.
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
    /// Chains two relayouts: the results of this kernel become the input that `other` takes to the user's
    /// array.
    pub(crate) fn retarget<U>(self, mut other: Stored<U>) -> Self {
        other.relayouts.extend(self.relayouts);
        Self {
            address: other.address,
            relayouts: other.relayouts,
            buffer: self.buffer,
        }
    }
}

/// Makes contiguous rows one row, if they are contiguous in both layouts.
fn joined([own, wanted]: [ViewRows; 2]) -> [ViewRows; 2] {
    let adjacent = |rows: ViewRows| rows.pitch == rows.bytes;
    match adjacent(own) && adjacent(wanted) {
        true => [own.joined(), wanted.joined()],
        false => [own, wanted],
    }
}

/// Returns the byte at which the user's rows end: the end of the last row, or of its granule if the array
/// ends with the row.
fn end(own: ViewRows, granule: u64) -> u64 {
    let last = own.start + own.count.saturating_sub(1) * own.pitch + own.bytes;
    match own.total <= last {
        true => last.next_multiple_of(granule.max(1)),
        false => last,
    }
}

/// Returns true if rows lie as they are wanted, and nothing is wanted beside them.
///
/// There are no gaps then, so it does not matter what lies between the rows.
fn lies(own: ViewRows, wanted: ViewRows, granule: u64) -> bool {
    let one = own.count == 1 && wanted.count == 1;
    own.start == wanted.start
        && (one || own.pitch == wanted.pitch && wanted.pitch == wanted.bytes)
        && wanted.total <= end(own, granule)
}

/// Returns true if transfers move the user's rows and nothing beside them.
///
/// The rows are whole granules, or one row with which the array ends.
fn steps(own: ViewRows, granule: u64) -> bool {
    let last = own.start + own.count.saturating_sub(1) * own.pitch + own.bytes;
    own.is_aligned(granule) && end(own, granule) >= last.next_multiple_of(granule.max(1))
}

/// Returns the expected cycles of the relayout that [`Job::rows_as`] adds for a kernel that loads, or
/// [`Job::rows_to`] for one that stores.
///
/// A relayout loads every byte of one array, stores every byte of the other, and has a program, a launch and
/// ends of its own. A view costs nothing.
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

/// Returns the expected cycles of a relayout that loads and stores so many bytes together.
///
/// `max(channel, control CPU) + program + ends`: the time of the bytes on the channel or of the control CPU
/// for the transfers, whichever is longer, then the load of the program, and launch and ends.
pub(crate) fn relayout_cycles(bytes: u64, machine: &Machine) -> f64 {
    let host = &machine.host;
    let ends = host.launch.0 + 2 * host.completion.0 + ENDS * host.descriptor.0;
    let page = 2 * PAGE * machine.cp2.sections.max(1) as u64;
    let transfers = TRANSFERS * bytes.div_ceil(page);
    let given = transfers.saturating_mul(host.descriptor.0);
    load(bytes, machine).max(given as f64) + load(PROGRAM, machine) + ends as f64
}

/// Transfers of a page: a load and a store.
const TRANSFERS: u64 = 2;
/// Descriptors that the control CPU builds before the first page is computed and after the last.
const ENDS: u64 = 12;
/// Bytes of the program of a relayout, approximately.
const PROGRAM: u64 = 1600;

impl RowOrigin {
    /// Describes rows that begin at an address, `pitch` bytes apart.
    pub(crate) fn new(address: u64, pitch: u64) -> Self {
        Self {
            address,
            pitch: pitch / WORD,
        }
    }
}
