//! A filter for signals that arrive piece by piece.

use super::ConvolutionMode;
use super::block_filter::FilterSample;
use super::convolver::{ConvRun, Convolver};
use super::error::ConvError;
use cp2_host::DeviceOptions;
use cp2_machine::Machine;
use cp2_problems::ProblemError;
use num_complex::Complex32;
use std::sync::Arc;

/// Filter of channels in pieces of one length: every piece gives as many outputs, as if the pieces were one
/// signal with zeros before it.
///
/// ```
/// use cp2_kernels::conv::Streaming;
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let taps = [1.0, 10.0].map(Complex32::from);
/// let mut filter = Streaming::<f32>::new(&vm7.into(), &taps, 1, 2)?;
/// let mut next = |x: &[f32]| -> Vec<f32> {
///     let y = filter.push(x).unwrap().output.unwrap();
///     y.iter().map(|y| y.round()).collect()
/// };
/// assert_eq!(next(&[1.0, 2.0]), [1.0, 12.0]);
/// assert_eq!(next(&[3.0, 4.0]), [23.0, 34.0]);
/// # Ok::<(), cp2_kernels::conv::ConvError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Streaming<T> {
    filter: Convolver,
    channels: usize,
    piece: usize,
    /// Last samples of every channel, as many as an output needs before its own.
    history: Vec<T>,
}

impl<T: FilterSample> Streaming<T> {
    /// Plans a filter for pieces of `piece` samples of each of `channels` channels.
    ///
    /// # Errors
    /// See [`Convolver::new`].
    pub fn new(
        machine: &Arc<Machine>,
        taps: &[Complex32],
        channels: usize,
        piece: usize,
    ) -> Result<Self, ConvError> {
        if piece == 0 {
            return Err(ProblemError::Empty.into());
        }
        let before = taps.len().saturating_sub(1);
        let samples = piece.saturating_add(before);
        let filter = Convolver::new::<T>(machine, taps, channels, samples, ConvolutionMode::Valid)?;
        Ok(Self {
            filter,
            channels,
            piece,
            history: vec![T::default(); channels * before],
        })
    }

    /// Returns the filter of a piece and the samples before it.
    #[must_use]
    pub fn filter(&self) -> &Convolver {
        &self.filter
    }

    /// Filters the next piece of every channel, one behind the other. To get the last outputs of a signal,
    /// append as many zeros as there are taps, less one.
    ///
    /// # Errors
    /// A piece of another length, or one that does not fit the machine.
    pub fn push(&mut self, piece: &[T]) -> Result<ConvRun<T>, ConvError> {
        self.push_with(piece, DeviceOptions::default())
    }

    /// Filters the next piece on a device with options.
    ///
    /// # Errors
    /// See [`Streaming::push`].
    pub fn push_with(
        &mut self,
        piece: &[T],
        options: DeviceOptions,
    ) -> Result<ConvRun<T>, ConvError> {
        if piece.len() != self.channels * self.piece {
            return Err(ConvError::Piece {
                channels: self.channels,
                samples: self.piece,
                found: piece.len(),
            });
        }
        let before = self.history.len() / self.channels;
        let mut x = Vec::with_capacity(self.history.len() + piece.len());
        for (channel, new) in piece.chunks(self.piece).enumerate() {
            x.extend(&self.history[channel * before..][..before]);
            x.extend(new);
        }
        let run = self.filter.process_with(&x, options)?;
        let ends = x.chunks(before + self.piece);
        self.history = ends.flat_map(|x| &x[self.piece..]).copied().collect();
        Ok(run)
    }
}
