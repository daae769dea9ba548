//! Tests refusals of filters, and filters as passes of a job.

use super::*;
use cp2_kernels::conv::AllowedMethods;

#[test]
fn wrong_shapes_are_errors() {
    let new = |taps: &[Complex32], channels, samples| {
        Convolver::new::<Complex32>(&VM7, taps, channels, samples, ConvolutionMode::Full)
    };
    let taps = complex(10, 1);
    assert!(new(&[], 1, 100).is_err());
    assert!(new(&taps, 0, 100).is_err());
    assert!(new(&taps, 1, 0).is_err());
    assert!(new(&taps, usize::MAX, usize::MAX).is_err());
    let error = new(&complex(530_000, 1), 1, 10_000).unwrap_err();
    assert!(error.to_string().contains("523265"), "{error}");
    let error = Convolver::new::<f32>(&VM7, &taps, 1, 100, ConvolutionMode::Full).unwrap_err();
    assert!(error.to_string().contains("real taps"), "{error}");
    let error = Convolver::new::<Complex32>(&VM7, &taps, 1, 9, ConvolutionMode::Valid).unwrap_err();
    assert!(error.to_string().contains("no shorter"), "{error}");
    let filter = new(&taps, 2, 100).unwrap();
    let x = complex(99, 1);
    let error = filter.process(&x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the signal holds 99 numbers, which is no multiple of the 100 samples of a channel this filter is planned for"
    );
    assert!(filter.process(&x[..0]).is_err());
    assert!(filter.process(&[0.0f32; 100]).is_err());
    let many = complex(3000, 1);
    let what = (ConvolutionMode::Full, OutputRate::decimate_by(1));
    let error =
        Convolver::with_methods::<Complex32>(&VM7, (&many, 1, 100), what, AllowedMethods::Direct);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("room for 2677"), "{error}");
    assert!(error.contains("an output a sample"), "{error}");
    for rate in [
        OutputRate::decimate_by(0),
        OutputRate::interpolate_by(0),
        OutputRate::interpolate_by(usize::MAX),
    ] {
        assert!(Convolver::resampler::<Complex32>(&VM7, &taps, 1, 100, rate).is_err());
    }
    // Only the first output is left.
    let one =
        Convolver::resampler::<Complex32>(&VM7, &taps, 1, 100, OutputRate::decimate_by(usize::MAX));
    assert_eq!(one.unwrap().outputs(), 1);
}

/// Two filters in one job work, the second on the first one's outputs where they lie.
#[test]
fn filters_are_passes_of_a_job() {
    for (first, second) in [(5, 40), (40, 600)] {
        let (channels, samples) = (2, 1500);
        let (a, b) = (complex(first, 1), complex(second, 2));
        let between = samples + first - 1;
        let plan = |taps: &[Complex32], samples| {
            Convolver::new::<Complex32>(&VM7, taps, channels, samples, ConvolutionMode::Full)
                .unwrap()
        };
        let filters = [plan(&a, samples), plan(&b, between)];
        let [from, to] = [0, 1].map(|i| filters[i].places(channels));
        let x = complex(channels * samples, 3);
        let lay = |x: &[Complex32], samples: usize, places: &ChannelArrays| {
            let mut all = vec![Complex32::default(); places.input];
            for (i, x) in x.chunks(samples).enumerate() {
                let at = places.input_start + i * places.input_stride;
                all[at..at + samples].copy_from_slice(x);
            }
            all
        };
        let take = |y: &[Complex32], outputs: usize, places: &ChannelArrays| -> Vec<Complex32> {
            let starts = (0..channels).map(|i| places.output_start + i * places.output_stride);
            starts.flat_map(|at| y[at..at + outputs].to_vec()).collect()
        };
        let run = |filter: &Convolver, places: &ChannelArrays, x: &[Complex32]| {
            clean(|options| {
                let mut job = Job::new(VM7.clone(), options);
                let x = job.input("x", x, &[x.len() as u64])?;
                let y = job.output::<Complex32>("y", &[places.output as u64])?;
                filter.append(&mut job, x, y, channels)?;
                Ok::<_, ConvError>(job.run(filter.figures::<Complex32>(channels), |r| r.read(y))?)
            })
        };
        let y = run(&filters[0], &from, &lay(&x, samples, &from))
            .output
            .unwrap();
        let y = take(&y, between, &from);
        let problem = ConvProblem::new(&a, channels, samples, ConvolutionMode::Full).unwrap();
        assert!(problem.compare(&x, &y).is_within_tolerance());
        let z = run(&filters[1], &to, &lay(&y, between, &to))
            .output
            .unwrap();
        let z = take(&z, between + second - 1, &to);
        let problem = ConvProblem::new(&b, channels, between, ConvolutionMode::Full).unwrap();
        assert!(problem.compare(&y, &z).is_within_tolerance());
        // The outputs are those of the filter alone.
        let alone = filters[1].process(&y).unwrap().output.unwrap();
        assert_eq!(z, alone);

        let mut job = Job::new(VM7.clone(), cp2_host::DeviceOptions::default());
        let short = job
            .table(&vec![Complex32::default(); to.input - 1])
            .unwrap();
        let y = job.output::<Complex32>("y", &[to.output as u64]).unwrap();
        let error = filters[1].append(&mut job, short, y, channels).unwrap_err();
        assert!(matches!(error, ConvError::ShortArray { .. }), "{error}");
    }
}
