//! The kinds of problems of this crate, by name and size.
//!
//! Tools and tests use this table to go through all problems.

use crate::chain::{RadarProblem, SonarProblem};
use crate::conv::ConvProblem;
use crate::error::ProblemError;
use crate::fft::{FftProblem, RealFftProblem};
use crate::himeno::HimenoProblem;
use crate::npb::FtProblem;
use crate::npb::mg::MgProblem;
use crate::problem::Problem;
use crate::size::{Size, SizeParameter};
use crate::sparse::SpmvProblem;
use crate::stencil::StencilProblem;
use crate::vector::{BeamProblem, MapProblem, ProductProblem, ReduceProblem, TransposeProblem};
use std::sync::Arc;

/// Makes the problem of a size, for the name of its kind or of a kernel.
pub type MakeProblem = fn(&str, &Size) -> Result<Arc<dyn Problem>, ProblemError>;

/// A kind of problem.
#[derive(Clone, Copy, Debug)]
pub struct ProblemKind {
    /// Name of the kind.
    pub name: &'static str,
    /// Parameters of its sizes.
    pub parameters: &'static [SizeParameter],
    /// Sizes that take little time, with sizes for several algorithms among them, in the form of
    /// [`Size::from_row`].
    small: &'static [&'static str],
    make: MakeProblem,
}

impl ProblemKind {
    /// Makes the problem of a size.
    ///
    /// # Errors
    /// The kind has no such size.
    pub fn make_problem(&self, size: &Size) -> Result<Arc<dyn Problem>, ProblemError> {
        (self.make)(self.name, size)
    }

    /// Returns sizes that take little time, with sizes for several algorithms among them.
    #[must_use]
    pub fn small_sizes(&self) -> Vec<Size> {
        let rows = self.small.iter();
        rows.flat_map(|row| Size::from_row(self.parameters, row))
            .collect()
    }
}

const BATCH: SizeParameter = SizeParameter::new("batch", 1, "number of transforms");
const DIRECTION: SizeParameter = SizeParameter::word("direction", "forward", "forward or inverse");
const TAPS: SizeParameter = SizeParameter::new("taps", 16, "taps of the filter");
const SAMPLES: SizeParameter = SizeParameter::new("samples", 1024, "samples of a channel");
const CHANNELS: SizeParameter = SizeParameter::new("channels", 1, "channels");
const MODE: SizeParameter = SizeParameter::word("mode", "full", "outputs: full, same or valid");

const fn map(name: &'static str) -> ProblemKind {
    ProblemKind {
        name,
        parameters: const { &[SizeParameter::new("n", 1024, "floats of each input")] },
        small: &["1024", "3072"],
        make: |name, size| Ok(Arc::new(MapProblem::from_size(name, size)?)),
    }
}

const fn reduction(name: &'static str) -> ProblemKind {
    ProblemKind {
        name,
        parameters: const {
            &[
                SizeParameter::new("n", 64, "floats of a row"),
                SizeParameter::new("rows", 64, "rows"),
            ]
        },
        small: &["6 21", "254 9", "600 5", "4096 2"],
        make: |name, size| Ok(Arc::new(ReduceProblem::from_size(name, size)?)),
    }
}

/// All kinds of problems of this crate.
pub static KINDS: &[ProblemKind] = &[
    ProblemKind {
        name: "fft",
        parameters: &[
            SizeParameter::new("n", 64, "length of a transform"),
            BATCH,
            DIRECTION,
        ],
        small: &[
            "16 5 forward",
            "64 3 inverse",
            "60 7 forward",
            "37 4 inverse",
            "1024 2 forward",
            "8192 1 inverse",
        ],
        make: |_, size| Ok(Arc::new(FftProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "fft-nd",
        parameters: &[
            SizeParameter::new("planes", 1, "length of the first of three axes; 1 for two"),
            SizeParameter::new("rows", 16, "length of the last axis but one"),
            SizeParameter::new("columns", 16, "length of the last axis"),
            BATCH,
            DIRECTION,
        ],
        small: &["1 64 16 2 forward", "16 16 32 1 inverse"],
        make: |_, size| Ok(Arc::new(FftProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "fft-real",
        parameters: &[
            SizeParameter::new("n", 64, "real numbers of a transform"),
            BATCH,
            DIRECTION,
        ],
        small: &[
            "16 5 forward",
            "64 3 inverse",
            "30 4 forward",
            "30 4 inverse",
            "101 3 forward",
            "101 3 inverse",
            "512 2 forward",
            "8192 1 inverse",
        ],
        make: |_, size| Ok(Arc::new(RealFftProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "conv",
        parameters: &[TAPS, SAMPLES, CHANNELS, MODE],
        small: &[
            "5 900 2 full",
            "60 3000 1 same",
            "300 5000 1 valid",
            "129 400 7 full",
        ],
        make: |_, size| Ok(Arc::new(ConvProblem::from_size(size, false)?)),
    },
    ProblemKind {
        name: "conv-real",
        parameters: &[TAPS, SAMPLES, CHANNELS, MODE],
        small: &[
            "5 900 2 full",
            "60 3000 1 valid",
            "300 5000 1 same",
            "129 401 7 full",
        ],
        make: |_, size| Ok(Arc::new(ConvProblem::from_size(size, true)?)),
    },
    ProblemKind {
        name: "fir",
        parameters: &[
            TAPS,
            SAMPLES,
            CHANNELS,
            SizeParameter::new("decimate", 1, "samples for an output"),
            SizeParameter::new(
                "interpolate",
                1,
                "outputs for a sample; one of the two is 1",
            ),
            SizeParameter::new("real", 1, "1 for real taps, 0 for complex ones"),
        ],
        small: &[
            "16 2000 1 1 1 1",
            "16 900 2 1 1 0",
            "60 3000 1 7 1 1",
            "16 600 1 1 8 1",
            "100 5000 1 50 1 0",
        ],
        make: |_, size| Ok(Arc::new(ConvProblem::from_size(size, false)?)),
    },
    map("scale"),
    map("axpy"),
    map("add"),
    map("subtract"),
    map("multiply"),
    map("complex-multiply"),
    map("window"),
    map("power"),
    map("magnitude"),
    map("phase"),
    map("decibels"),
    reduction("sum"),
    reduction("dot"),
    reduction("complex-dot"),
    reduction("norm"),
    reduction("max"),
    ProblemKind {
        name: "beamformer",
        parameters: &[
            SizeParameter::new("elements", 8, "complex numbers of a vector"),
            SizeParameter::new("beams", 8, "complex numbers of its product"),
            SizeParameter::new("snapshots", 64, "vectors"),
        ],
        small: &["4 4 50", "33 7 21", "100 5 9"],
        make: |_, size| Ok(Arc::new(BeamProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "small-products",
        parameters: &[
            SizeParameter::new("m", 4, "rows of the first factor"),
            SizeParameter::new("k", 4, "its columns"),
            SizeParameter::new("n", 4, "columns of the second factor"),
            SizeParameter::new("count", 64, "products"),
        ],
        small: &["2 2 2 50", "3 5 2 33", "8 8 1 20"],
        make: |_, size| Ok(Arc::new(ProductProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "transpose",
        parameters: &[
            SizeParameter::new("rows", 64, "rows"),
            SizeParameter::new("columns", 64, "columns"),
            SizeParameter::new("count", 1, "matrices"),
        ],
        small: &["5 5 40", "64 64 1", "97 31 1", "33 7 5"],
        make: |_, size| Ok(Arc::new(TransposeProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "npb-mg",
        parameters: &[
            SizeParameter::new("n", 32, "points along each axis: a power of two"),
            SizeParameter::new("cycles", 4, "V-cycles"),
            SizeParameter::word(
                "smoother",
                "a",
                "smoother of classes S, W, A (a) or B, C (b)",
            ),
        ],
        small: &["16 2 a", "32 1 b"],
        make: |_, size| Ok(Arc::new(MgProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "stencil",
        parameters: &[
            SizeParameter::new("planes", 1, "extent of the slowest of three axes; 1 of two"),
            SizeParameter::new("rows", 16, "rows of a plane"),
            SizeParameter::new("columns", 16, "elements of a row"),
            SizeParameter::new(
                "points",
                5,
                "points of the stencil: 5 or 9 of two axes, 7, 19 or 27 of three",
            ),
            SizeParameter::new("steps", 1, "steps, one after the other"),
            SizeParameter::word("edge", "zero", "zero, fixed, mirrored or periodic"),
            SizeParameter::word(
                "coefficients",
                "class",
                "class: one for each class of points; element: for every element its own",
            ),
        ],
        small: &[
            "1 16 16 5 1 zero class",
            "1 7 13 9 2 fixed class",
            "1 30 300 5 1 periodic element",
            "5 6 20 7 2 mirrored class",
            "4 9 17 19 1 periodic class",
            "3 5 12 27 2 zero class",
            "6 5 33 19 1 fixed element",
        ],
        make: |_, size| Ok(Arc::new(StencilProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "himeno",
        parameters: &HimenoProblem::PARAMETERS,
        small: &["3 3 3 1 random", "5 7 20 2 random", "9 6 67 3 random"],
        make: |_, size| Ok(Arc::new(HimenoProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "spmv",
        parameters: &SpmvProblem::PARAMETERS,
        small: &[
            "band 301 0 1 -37,-1,0,1,37 real 1 1",
            "grid5 12 0 1 0 real 2 1",
            "grid7 6 0 1 0 pattern 1 1",
            "grid27 5 0 1 0 real 3 3",
            "fem 200 0 3 0 real 1 1",
            "fem 97 0 5 0 complex 1 1",
            "random 90 0 8 0 real 1 1",
            "random 61 130 4 0 complex 1 2",
            "random 150 33 3 0 pattern 1 1",
            "power-law 200 0 6 0 real 1 1",
            "dense-row 130 0 3 0 real 1 1",
            "dense-column 130 0 3 0 real 1 1",
            "empty 100 80 6 0 real 1 5",
            "mesh 121 0 1 0 real 1 1",
            "random 1 50 7 0 real 1 1",
            "random 50 1 1 0 real 1 1",
        ],
        make: |_, size| Ok(Arc::new(SpmvProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "radar",
        parameters: &[
            SizeParameter::new("pulses", 16, "pulses that are processed together"),
            SizeParameter::new("ranges", 64, "range cells"),
            SizeParameter::new("chirp", 16, "samples of the chirp that is sent"),
        ],
        small: &["16 64 16", "2 30 1", "60 32 100"],
        make: |_, size| Ok(Arc::new(RadarProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "sonar",
        parameters: &[
            SizeParameter::new("hydrophones", 8, "hydrophones"),
            SizeParameter::new("beams", 8, "beams"),
            SizeParameter::new("samples", 512, "samples of each hydrophone"),
            SizeParameter::new("decimate", 4, "samples for one of the filtered signal"),
            SizeParameter::new("taps", 64, "taps of the filter"),
            SizeParameter::new("points", 64, "points of a spectrum"),
        ],
        small: &["8 8 512 4 64 64", "2 4 333 1 5 30", "4 10 700 3 100 48"],
        make: |_, size| Ok(Arc::new(SonarProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "npb-ft",
        parameters: &[
            SizeParameter::new("planes", 64, "length of the axis z, a power of two"),
            SizeParameter::new("rows", 64, "length of the axis y"),
            SizeParameter::new("columns", 64, "length of the axis x, the contiguous one"),
            SizeParameter::new("steps", 6, "steps, each with a checksum"),
        ],
        small: &["32 32 32 2", "64 32 16 3"],
        make: |_, size| Ok(Arc::new(FtProblem::from_size(size)?)),
    },
];

#[cfg(test)]
mod tests;
