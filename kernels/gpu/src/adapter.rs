//! Descriptions of adapters: the one to take, and the one that was taken.

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Which adapter to take, and how long to wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterChoice {
    /// A part of the adapter's name, whatever the case of letters; none for the fastest kind there is:
    /// discrete, then integrated, then virtual, then the processor itself.
    pub name: Option<String>,
    /// Number of the adapter among those that fit, from 0 on.
    pub number: usize,
    /// How long one run may take, from the first command to the last result.
    pub time_limit: Duration,
    /// Most bytes of an array, where these are to be fewer than the adapter allows.
    pub most_binding_bytes: Option<u64>,
}

impl Default for AdapterChoice {
    fn default() -> Self {
        Self {
            name: None,
            number: 0,
            time_limit: Duration::from_secs(120),
            most_binding_bytes: None,
        }
    }
}

/// The adapter that computes: names, limits, and how it computes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterReport {
    /// Name of the adapter.
    pub name: String,
    /// Name and version of its driver.
    pub driver: String,
    /// Its kind: discrete, integrated, virtual, cpu or other.
    pub kind: String,
    /// The interface by which it is used, such as Vulkan.
    pub backend: String,
    /// Most bytes of an array that a shader reads or writes.
    pub binding_bytes: u64,
    /// Most bytes of an array.
    pub buffer_bytes: u64,
    /// Bytes of memory that a workgroup shares.
    pub workgroup_bytes: u32,
    /// Most invocations of a workgroup.
    pub workgroup_invocations: u32,
    /// Most arrays of a shader.
    pub bindings: u32,
    /// True if the adapter measures time itself.
    pub timestamps: bool,
    /// How it computes.
    pub probe: ArithmeticProbe,
}

/// How an adapter rounds, found out by computing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArithmeticProbe {
    /// True if `fma(a, b, c)` is rounded once.
    pub fma_is_fused: bool,
    /// How `a * b + c` is rounded.
    pub contraction: Contraction,
    /// True if products and sums of subnormal numbers are 0.
    pub subnormals_are_flushed: bool,
    /// True if quotients are rounded correctly.
    pub division_is_exact: bool,
    /// True if square roots are rounded correctly.
    pub root_is_exact: bool,
}

/// How an adapter rounds `a * b + c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contraction {
    /// Once, as a fused operation.
    Fused,
    /// The product first, then the sum.
    RoundedTwice,
    /// It depends on the expression that it is a part of.
    Depends,
}

impl fmt::Display for Contraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fused => "fused",
            Self::RoundedTwice => "rounded twice",
            Self::Depends => "depends",
        })
    }
}
