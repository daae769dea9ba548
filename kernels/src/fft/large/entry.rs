//! FFTs larger than DMEM in the registry of kernels.

use super::nd::FftNd;
use super::plan::LargeFft;
use crate::fft::Direction;
use crate::fft::entry::prepared;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::Machine;
use std::sync::Arc;

/// Complex transforms of powers of two in two passes over system memory.
#[derive(Clone, Copy, Debug)]
pub struct LargeFftKernel;

const NAME: &str = "fft-large";

impl Kernel for LargeFftKernel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "complex FFTs of 2^11 to 2^22 numbers in two or three passes over system memory"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "fft/large.s",
            "fft/blocks.s",
            "fft/pass8.s",
            "fft/shifted8.s",
            "fft/lines2048.s",
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "n",
                default: 65536,
                help: "length of a transform",
            },
            Parameter {
                name: "batch",
                default: 1,
                help: "number of transforms",
            },
        ]
    }

    fn sizes(&self) -> Vec<Size> {
        [
            (13, 4),
            (14, 4),
            (16, 4),
            (18, 1),
            (20, 1),
            (21, 1),
            (22, 1),
        ]
        .into_iter()
        .map(|(log2, batch)| Size::new(&[("n", 1 << log2), ("batch", batch)]))
        .collect()
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(NAME, e);
        let fft = LargeFft::new(n, Direction::Forward, machine.clone()).map_err(wrong)?;
        prepared(&fft, batch, options).map_err(wrong)
    }
}

/// Complex transforms of two and three dimensions.
#[derive(Clone, Copy, Debug)]
pub struct FftNdKernel;

const ND: &str = "fft-nd";

impl Kernel for FftNdKernel {
    fn name(&self) -> &'static str {
        ND
    }

    fn summary(&self) -> &'static str {
        "complex FFTs of two and three dimensions, a pass over system memory for every axis"
    }

    fn sources(&self) -> &'static [&'static str] {
        &["fft/large.s", "fft/blocks.s", "fft/pass8.s"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "planes",
                default: 1,
                help: "length of the first of three axes; 1 for two dimensions",
            },
            Parameter {
                name: "rows",
                default: 256,
                help: "length of the last axis but one",
            },
            Parameter {
                name: "columns",
                default: 256,
                help: "length of the last axis",
            },
            Parameter {
                name: "batch",
                default: 1,
                help: "number of arrays",
            },
        ]
    }

    fn sizes(&self) -> Vec<Size> {
        [(1, 256, 256), (1, 512, 512), (1, 1024, 1024), (64, 64, 64)]
            .into_iter()
            .map(|(planes, rows, columns)| {
                Size::new(&[
                    ("planes", planes),
                    ("rows", rows),
                    ("columns", columns),
                    ("batch", 1),
                ])
            })
            .collect()
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let wrong = |e| KernelError::of(ND, e);
        let batch = size.positive("batch")?;
        let mut shape = vec![size.positive("rows")?, size.positive("columns")?];
        match size.positive("planes")? {
            1 => {}
            planes => shape.insert(0, planes),
        }
        let fft = FftNd::new(&shape, Direction::Forward, machine.clone()).map_err(wrong)?;
        prepared(&fft, batch, options).map_err(wrong)
    }
}
