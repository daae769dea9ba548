//! The job file: arrays, and passes of kernels over them (`docs/arrays.md`).

use super::read::{Keys, SpannedValue, WantedKey, describe_value, digits};
use super::text::JobText;
use crate::commands::map::{MapTolerance, MapWord, buffering, edge, march};
use crate::outcome::CommandFailure;
use cp2_host::Buffering;
use cp2_host::nest::{BoundaryRule, March};
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::DeTable;

/// Contents of a job file.
#[derive(Debug)]
pub(super) struct JobFile {
    /// Arrays by name.
    pub(super) arrays: BTreeMap<String, Spanned<ArraySpec>>,
    /// Passes in order.
    pub(super) passes: Vec<Spanned<PassSpec>>,
    /// Number of times that all passes are carried out.
    pub(super) repeat: Spanned<u32>,
}

/// Array: an input read from a file, or one with a shape that passes store.
#[derive(Debug)]
pub(super) struct ArraySpec {
    /// File to read the array from.
    pub(super) input: Option<Spanned<PathBuf>>,
    /// File to write the array to.
    pub(super) output: Option<Spanned<PathBuf>>,
    /// Extents, slowest first.
    pub(super) shape: Option<Spanned<Vec<u64>>>,
    /// NumPy's name of the element type; float32 if not given.
    pub(super) element: Option<Spanned<String>>,
    /// File of the expected array.
    pub(super) expect: Option<Spanned<PathBuf>>,
    /// Tolerance of the comparison, as in the options of `cp2 map`.
    pub(super) tolerance: MapTolerance,
}

/// Pass of a kernel over arrays.
#[derive(Debug)]
pub(super) struct PassSpec {
    /// Source or object file of the kernel.
    pub(super) kernel: Spanned<PathBuf>,
    /// Elements of a block along each axis, for all streams without a block of their own.
    pub(super) block: Spanned<Vec<u64>>,
    pub(super) inputs: Vec<StreamSpec>,
    pub(super) outputs: Vec<StreamSpec>,
    pub(super) tables: Vec<Spanned<String>>,
    /// Words that follow the addresses in the kernel's argument block.
    pub(super) args: Vec<MapWord>,
    pub(super) reduce: bool,
    pub(super) in_place: bool,
    /// Axis that pages march along.
    pub(super) march: Option<March>,
    pub(super) scratch: u64,
    /// Number of blocks per section in a page.
    pub(super) page: Option<std::num::NonZeroU32>,
    pub(super) buffering: Buffering,
}

/// Array as an input or output stream of a pass.
#[derive(Debug)]
pub(super) struct StreamSpec {
    /// Name of the array.
    pub(super) array: Spanned<String>,
    pub(super) block: Option<Spanned<Vec<u64>>>,
    pub(super) halo: Option<Spanned<Vec<u64>>>,
    pub(super) edge: BoundaryRule,
}

const PASSES: WantedKey = WantedKey::new(
    "a list of passes",
    "begin each pass with `[[pass]]`, in two pairs of brackets",
);
const ARRAY: &str = "begin each array with `[arrays.NAME]`, in one pair of brackets";
const STREAM: &str =
    "write `{ array = \"NAME\" }`, and where needed `block`, `halo` and `edge` in the braces";
const STREAMS: WantedKey = WantedKey::new("a list of streams", STREAM);
const TABLES: WantedKey = WantedKey::new("a list of names of arrays", "such as [\"taps\"]");
const ARGS: WantedKey = WantedKey::new("a list of numbers", "such as [3, 0.375]");

impl JobFile {
    /// Reads a job file.
    pub(super) fn read(text: &JobText<'_>) -> Result<Self, CommandFailure> {
        let table = DeTable::parse(text.text).map_err(|e| {
            let end = text.text.len();
            let span = e.span().unwrap_or(end..end);
            let help = "the file is TOML: `key = value`, and tables in brackets";
            text.fail(span.start.min(end)..span.end.min(end), e.message(), help)
        })?;
        let mut keys = Keys::from_file(text, &table);
        let arrays = keys.find("arrays");
        let arrays = keys.needed("arrays", arrays, ARRAY)?;
        let Some(named) = arrays.get_ref().as_table() else {
            let message = format!(
                "`arrays` is {}; expected a table",
                describe_value(arrays.get_ref())
            );
            return Err(text.fail(arrays.span(), &message, ARRAY));
        };
        let arrays = named.iter().map(|(name, value)| {
            let name = name.get_ref().to_string();
            let spec = ArraySpec::read(text, &name, value)?;
            Ok((name, Spanned::new(value.span(), spec)))
        });
        let arrays = arrays.collect::<Result<_, CommandFailure>>()?;
        let passes = keys.list("pass", PASSES, |value, number| {
            let spec = PassSpec::read(text, number, value)?;
            Ok(Spanned::new(value.span(), spec))
        })?;
        let repeat = keys.read_whole_number("repeat")?;
        keys.end()?;
        Ok(Self {
            arrays,
            passes,
            repeat: repeat.unwrap_or_else(|| Spanned::new(0..0, 1)),
        })
    }
}

impl ArraySpec {
    fn read(
        text: &JobText<'_>,
        name: &str,
        value: &SpannedValue<'_>,
    ) -> Result<Self, CommandFailure> {
        let mut keys = Keys::from_value(text, &format!("array `{name}`"), value, ARRAY)?;
        let spec = Self {
            input: keys.name("input")?,
            output: keys.name("output")?,
            shape: keys.extents("shape")?,
            element: keys.name("element")?,
            expect: keys.name("expect")?,
            tolerance: MapTolerance {
                each: keys.number("tolerance")?,
                largest: keys.number("tolerance-largest")?,
                rms: keys.number("tolerance-rms")?,
            },
        };
        keys.end()?;
        Ok(spec)
    }
}

impl PassSpec {
    fn read(
        text: &JobText<'_>,
        number: usize,
        value: &SpannedValue<'_>,
    ) -> Result<Self, CommandFailure> {
        let mut keys = Keys::from_value(text, &format!("pass {number}"), value, PASSES.help)?;
        let kernel = keys.name("kernel")?;
        let block = keys.extents("block")?;
        let mut streams =
            |key| keys.list(key, STREAMS, |value, _| StreamSpec::read(text, key, value));
        let (inputs, outputs) = (streams("inputs")?, streams("outputs")?);
        let tables = keys.list("tables", TABLES, |value, _| {
            match value.get_ref().as_str() {
                Some(name) => Ok(Spanned::new(value.span(), name.to_owned())),
                None => {
                    let message = format!(
                        "a table is {}; expected the name of an array",
                        describe_value(value.get_ref())
                    );
                    Err(text.fail(value.span(), &message, TABLES.help))
                }
            }
        })?;
        let args = keys.list("args", ARGS, |value, _| {
            let word = digits(value.get_ref()).map(|digits| digits.parse::<MapWord>());
            let (message, help) = match word {
                Some(Ok(word)) => return Ok(word),
                Some(Err(e)) => (format!("an argument: {e}"), ""),
                None => {
                    let what = describe_value(value.get_ref());
                    let message = format!("an argument is {what}; expected a number");
                    (message, "write an integer, or for the bits of a float32 a decimal number, without quotes")
                }
            };
            Err(text.fail(value.span(), &message, help))
        })?;
        let spec = Self {
            kernel: keys.needed("kernel", kernel, "give its source: `kernel = \"FILE.s\"`")?,
            block: keys.needed(
                "block",
                block,
                "give the elements of a block along each axis, slowest first: `block = [8, 64]`",
            )?,
            inputs,
            outputs,
            tables,
            args,
            reduce: keys.truth("reduce")?,
            in_place: keys.truth("in-place")?,
            march: keys.word("march", march)?,
            scratch: keys
                .read_whole_number("scratch")?
                .map_or(0, Spanned::into_inner),
            page: keys.positive("page")?,
            buffering: keys.word("buffering", buffering)?.unwrap_or_default(),
        };
        keys.end()?;
        Ok(spec)
    }
}

impl StreamSpec {
    fn read(
        text: &JobText<'_>,
        key: &str,
        value: &SpannedValue<'_>,
    ) -> Result<Self, CommandFailure> {
        let mut keys = Keys::from_value(text, &format!("a stream of `{key}`"), value, STREAM)?;
        let array = keys.name("array")?;
        let spec = Self {
            array: keys.needed("array", array, STREAM)?,
            block: keys.extents("block")?,
            halo: keys.extents("halo")?,
            edge: keys.word("edge", edge)?.unwrap_or_default(),
        };
        keys.end()?;
        Ok(spec)
    }
}
