//! The NAS benchmarks, which stay on the device from the input to the result.

mod ft;
mod mg;

pub(crate) use ft::ft;
pub(crate) use mg::mg;

use crate::program::Shader;

pub(crate) const EVOLVE: Shader = Shader {
    name: "npb/evolve",
    parts: &[include_str!("npb/evolve.wgsl")],
};

pub(crate) const GATHER: Shader = Shader {
    name: "npb/gather",
    parts: &[include_str!("npb/gather.wgsl")],
};

pub(crate) const PROJECT: Shader = Shader {
    name: "npb/project",
    parts: &[include_str!("npb/project.wgsl")],
};

pub(crate) const INTERPOLATE: Shader = Shader {
    name: "npb/interpolate",
    parts: &[include_str!("npb/interpolate.wgsl")],
};
