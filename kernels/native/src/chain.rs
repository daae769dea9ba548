//! Radar and sonar receivers in single precision, from filter to decibels.

use crate::NativeProblem;
use crate::conv::Full;
use crate::fft::planned;
use cp2_problems::chain::{RadarProblem, ReceiverProblem, SonarProblem};
use cp2_problems::conv::matched;
use cp2_problems::fft::TransformDirection;
use cp2_problems::vector::WindowFunction;
use cp2_problems::{NamedArrays, Problem};
use cp2_rustfft::Fft;
use num_complex::Complex32;
use std::sync::Arc;

pub(crate) fn radar(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<RadarProblem>()?.clone();
    let (recipe, compress) = Full::new(&matched(problem.pulse()));
    let [pulses, samples] = problem.block();
    let (chirp, ranges) = (problem.spec().chirp, problem.spec().ranges);
    let spectra = ReceiverEnd::new(pulses);
    Some(NativeProblem::new(recipe, move |input| {
        let x = input.get_sized("x", pulses * samples)?;
        let mut map = vec![Complex32::default(); ranges * pulses];
        for (pulse, echoes) in x.chunks(samples).enumerate() {
            let compressed = compress.convolve(echoes);
            let valid = compressed.iter().skip(chirp - 1);
            for (row, y) in map.chunks_mut(pulses).zip(valid) {
                row[pulse] = *y;
            }
        }
        Ok(spectra.transform_rows(map, &problem.spectra()))
    }))
}

pub(crate) fn sonar(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<SonarProblem>()?.clone();
    let spec = problem.spec().clone();
    let (recipe, filter) = Full::new(&spec.low_pass());
    let [hydrophones, samples] = problem.block();
    let (weights, time) = (spec.weights(), spec.filtered());
    let spectra = ReceiverEnd::new(spec.points);
    Some(NativeProblem::new(recipe, move |input| {
        let x = input.get_sized("x", hydrophones * samples)?;
        let filtered = x.chunks(samples).map(|x| {
            let all = filter.convolve(x);
            let kept = all.iter().step_by(spec.decimate).take(time);
            kept.copied().collect::<Vec<_>>()
        });
        let filtered: Vec<_> = filtered.collect();
        let mut beams = vec![Complex32::default(); spec.beams * time];
        let rows = beams.chunks_mut(time).zip(weights.chunks(hydrophones));
        for (beam, weights) in rows {
            for (w, x) in weights.iter().zip(&filtered) {
                for (y, x) in beam.iter_mut().zip(x) {
                    *y += w * x;
                }
            }
        }
        Ok(spectra.transform_rows(beams, &problem.spectra()))
    }))
}

/// Final stages of a receiver: window, transform, decibels.
struct ReceiverEnd {
    window: Vec<f32>,
    fft: Arc<dyn Fft<f32>>,
}

impl ReceiverEnd {
    fn new(points: usize) -> Self {
        Self {
            window: WindowFunction::Hann.coefficients(points),
            fft: planned(points, TransformDirection::Forward),
        }
    }

    fn transform_rows(&self, mut rows: Vec<Complex32>, shape: &[usize]) -> NamedArrays {
        for (x, w) in rows.iter_mut().zip(self.window.iter().cycle()) {
            *x *= w;
        }
        self.fft.process(&mut rows);
        let decibels = rows.iter().map(|z| 10.0 * libm::log10f(z.norm_sqr()));
        let decibels = decibels.collect::<Vec<f32>>();
        NamedArrays::from_array("spectra", shape, rows).add_array("decibels", shape, decibels)
    }
}
