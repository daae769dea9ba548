//! Reasons why a graphics card does not compute.

use std::time::Duration;

/// Reason why a graphics card cannot be used, or did not finish.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter at all.
    #[error(
        "there is no graphics adapter with a Vulkan driver: install the card's driver or, to compute on the processor, \
         Mesa's lavapipe (Debian and Ubuntu: `apt-get install mesa-vulkan-drivers`)"
    )]
    NoAdapter,
    /// No adapter, where this computer's memory may be the reason.
    #[error(
        "no driver of a graphics adapter could be loaded, and this computer does not give the program the {} MB of memory \
         that a driver may take; let the program have more memory (`ulimit -v`, other programs)",
        bytes / 1_000_000
    )]
    NoMemoryForDriver {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// No adapter of the name that was asked for.
    #[error("no graphics adapter has `{wanted}` in its name; there are: {}", found.join(", "))]
    NoSuchAdapter {
        /// The part of a name that was asked for.
        wanted: String,
        /// Names of the adapters that there are.
        found: Vec<String>,
    },
    /// There are not as many adapters of a kind as were asked for.
    #[error(
        "{wanted} graphics adapters are wanted, and this computer has {found} of the kind of the first one; take at most {found}"
    )]
    TooFewAdapters {
        /// The number that was asked for.
        wanted: usize,
        /// The number that there is.
        found: usize,
    },
    /// The driver refuses to open the adapter.
    #[error("the adapter {adapter} cannot be opened: {reason}")]
    NotOpened {
        /// Name of the adapter.
        adapter: String,
        /// Message of the driver.
        reason: String,
    },
    /// An array is larger than a buffer may be.
    #[error(
        "no room for {what}: {bytes} bytes are needed, and the adapter binds at most {most} bytes at a time; take a smaller \
         problem or another adapter"
    )]
    TooLarge {
        /// The array.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The adapter's limit.
        most: u64,
    },
    /// The problem's numbers are not those of shaders.
    #[error(
        "shaders compute in single precision, and the problem is in {precision} precision; take single precision or the backend native"
    )]
    Precision {
        /// Name of the format of the problem's numbers.
        precision: &'static str,
    },
    /// The problem needs more of something than the adapter has.
    #[error("{what}: {found} are needed, and the adapter has {most}; take another adapter")]
    Limit {
        /// Name of the scarce resource.
        what: &'static str,
        /// How much is needed.
        found: u64,
        /// The adapter's limit.
        most: u64,
    },
    /// The adapter's memory is full.
    #[error(
        "the adapter has no memory left for {what} of {bytes} bytes, besides {held} bytes that are in use; take a smaller problem"
    )]
    OutOfMemory {
        /// The array that there is no room for.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// Bytes that were allocated before.
        held: u64,
    },
    /// A shader was refused by the compiler or by the driver.
    #[error("the shader `{shader}` does not compile, which is an error of this program: {reason}")]
    Shader {
        /// Name of the shader.
        shader: String,
        /// Message of the compiler.
        reason: String,
    },
    /// A command was refused.
    #[error("the adapter refuses {what}, which is an error of this program: {reason}")]
    Refused {
        /// The request.
        what: &'static str,
        /// Message of the library.
        reason: String,
    },
    /// The adapter does not answer any more.
    #[error("the adapter was lost: {reason}; what it computed is lost too, open it again")]
    Lost {
        /// Message of the driver.
        reason: String,
    },
    /// The adapter did not answer in time.
    #[error("the adapter did not finish within {} s; take a smaller problem", limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// The card computes kinds of this problem, but not this one.
    #[error("{what}; {instead}")]
    Unfit {
        /// The part that is not computed.
        what: String,
        /// A way out.
        instead: &'static str,
    },
}

impl GpuError {
    /// True if the program or the device is at fault, and not the size of a problem: it would fail for others too.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::Shader { .. } | Self::Refused { .. } | Self::Lost { .. } | Self::TimedOut { .. }
        )
    }
}
