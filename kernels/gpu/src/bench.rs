//! Speeds of the shaders, measured on the device beside a copy.

mod copy;
mod divided;
mod repeats;
mod rows;
mod subject;

pub use rows::{SPEED_ROWS, SpeedRow};
pub use subject::{MatrixTileError, SpeedSubject};

#[cfg(test)]
pub(crate) use copy::{COPY, POISON};
pub(crate) use repeats::RepeatedRuns;

use crate::backend::{Gpu, GpuFailure};
use crate::error::GpuError;
use cp2_problems::{DataError, ProblemError};

/// Sizes of the arrays of a measurement, and how often it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeedPlan {
    /// Bytes of an array, about: several times the last cache.
    pub bytes: u64,
    /// Timed runs, of which the median counts.
    pub repetitions: usize,
    /// Seed of the inputs.
    pub seed: u64,
}

/// Figures of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedFigures {
    /// Sides of the arrays, the innermost one last.
    pub size: Vec<usize>,
    /// Algorithm in words.
    pub recipe: String,
    /// Median of the seconds of all runs, from the begin of the first shader to the end of the last one.
    pub seconds: f64,
    /// Shortest and longest of them.
    pub range: [f64; 2],
    /// Fewest bytes that known algorithms read and write.
    pub bytes: u64,
    /// Floating-point operations of known algorithms, as they are usually counted; 0 of a copy.
    pub operations: f64,
    /// The largest error in units of the allowed one.
    pub worst: f64,
}

impl SpeedFigures {
    /// Returns the figures of runs of a computation.
    fn of(subject: &SpeedSubject, recipe: String, seconds: Vec<f64>, worst: f64) -> Self {
        let least = (subject.bytes, subject.operations);
        Self::new(subject.size.clone(), recipe, seconds, least, worst)
    }

    /// Returns the figures of runs, with the least bytes and operations.
    fn new(
        size: Vec<usize>,
        recipe: String,
        mut seconds: Vec<f64>,
        (bytes, operations): (u64, f64),
        worst: f64,
    ) -> Self {
        seconds.sort_by(f64::total_cmp);
        let at = |i: usize| seconds.get(i).copied().unwrap_or(f64::NAN);
        Self {
            size,
            recipe,
            seconds: at(seconds.len() / 2),
            range: [at(0), at(seconds.len().saturating_sub(1))],
            bytes,
            operations,
            worst,
        }
    }

    /// Returns the bytes a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    /// True if the output of the last run is right.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.worst <= 1.0
    }
}

/// Reason why a row has no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpeedError {
    /// There is no problem of this size.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The input does not fit.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl From<GpuFailure> for SpeedError {
    fn from(failure: GpuFailure) -> Self {
        match failure {
            GpuFailure::Data(error) => Self::Data(error),
            GpuFailure::Gpu(error) => Self::Gpu(error),
        }
    }
}

/// Bytes of an array on a processor, and on a card.
const BYTES: [u64; 2] = [1 << 20, 512 << 20];

/// Parts of the largest binding that an array may have: the largest rows have twice the bytes of the others.
const PARTS: u64 = 2;

impl Gpu {
    /// Returns the bytes of an array that suit this adapter.
    #[must_use]
    pub fn suggest_array_bytes(&self) -> u64 {
        let [small, large] = BYTES;
        let wanted = if self.is_processor() { small } else { large };
        wanted.min(self.most_array_bytes())
    }

    /// True if the adapter computes on a processor, for which large arrays take too long.
    #[must_use]
    pub fn is_processor(&self) -> bool {
        self.adapter().kind == "cpu"
    }

    /// Returns the most bytes of an array of a measurement.
    #[must_use]
    pub fn most_array_bytes(&self) -> u64 {
        let adapter = self.adapter();
        adapter.binding_bytes.min(adapter.buffer_bytes) / PARTS
    }

    /// Measures a copy by a shader, with which the rows are compared.
    ///
    /// # Errors
    /// The device fails, or has no clock.
    pub fn measure_copy(&self, plan: &SpeedPlan) -> Result<SpeedFigures, SpeedError> {
        copy::measure(self.device(), plan)
    }

    /// Measures a computation. Before each run its output is overwritten, and the last output is judged.
    ///
    /// # Errors
    /// The device fails, or has no clock.
    pub fn measure(
        &self,
        subject: &SpeedSubject,
        plan: &SpeedPlan,
    ) -> Result<SpeedFigures, SpeedError> {
        let input = subject.input(plan.seed);
        let problem = &*subject.problem;
        let (recipe, output, seconds) = self.run_repeated(problem, &input, plan.repetitions)?;
        let worst = subject.judge(&input, &output);
        Ok(SpeedFigures::of(subject, recipe, seconds, worst))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::adapter::AdapterChoice;
    use crate::group::GpuGroup;

    fn plan() -> SpeedPlan {
        SpeedPlan {
            bytes: 1 << 16,
            repetitions: 2,
            seed: 7,
        }
    }

    #[test]
    fn all_rows_are_right_and_take_time() {
        let gpu = Gpu::open(&AdapterChoice::default()).unwrap();
        let copy = gpu.measure_copy(&plan()).unwrap();
        assert!(copy.is_right() && copy.seconds > 0.0, "{copy:?}");
        for row in SPEED_ROWS {
            let subject = row.make(plan().bytes).unwrap();
            let figures = gpu.measure(&subject, &plan()).unwrap();
            assert!(figures.is_right(), "{}: {figures:?}", row.name);
            let [least, most] = figures.range;
            assert!(0.0 < least && least <= figures.seconds && figures.seconds <= most);
            assert!(figures.bytes > 0 && figures.operations > 0.0 && !figures.recipe.is_empty());
        }
    }

    /// Rows that are divided have the bits of one adapter; here that is opened twice.
    #[test]
    fn divided_rows_are_right() {
        let open = || Gpu::open(&AdapterChoice::default()).unwrap();
        let group = GpuGroup::from_adapters(vec![open(), open()]);
        for row in SPEED_ROWS {
            match row.is_divisible() {
                true => assert!(group.measure_row(row, &plan()).unwrap().is_right()),
                false => assert!(group.measure_row(row, &plan()).is_err()),
            }
        }
    }

    /// A row on a graphics card has the size that its name says.
    #[test]
    fn rows_have_their_sizes_on_a_card() {
        let size = |name: &str| {
            let row = SPEED_ROWS.iter().find(|row| row.name == name).unwrap();
            row.size(BYTES[1])
        };
        assert_eq!(size("fft-1024"), [65536, 1024]);
        assert_eq!(size("fft-4096"), [16384, 4096]);
        assert_eq!(size("fft-1048576"), [64, 1 << 20]);
        assert_eq!(size("fft-3d"), [512, 512, 512]);
        assert_eq!(size("stencil-27"), [512, 512, 512]);
        assert_eq!(size("spmv-27"), [128, 128, 128]);
        assert_eq!(size("himeno-l"), [256, 256, 512]);
        assert_eq!(size("himeno-xl"), [512, 512, 1024]);
        assert_eq!(size("mg-c"), [512, 512, 512]);
        assert_eq!(size("fft-1009"), [(64 << 20) / 1009, 1009]);
    }

    #[test]
    fn the_median_counts() {
        let of =
            |seconds, worst| SpeedFigures::new(vec![1], String::new(), seconds, (10, 4.0), worst);
        let all = of(vec![3.0, 1.0, 2.0], 1.0);
        assert_eq!((all.seconds, all.range, all.rate()), (2.0, [1.0, 3.0], 5.0));
        assert!(all.is_right());
        assert!(!of(vec![1.0], f64::NAN).is_right());
    }
}
