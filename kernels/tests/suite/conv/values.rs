//! Tests filters on signals whose results are known.

use super::*;

/// Integer sequences give the sums of a published table of exact values.
#[test]
fn integer_sequences_convolve_exactly() {
    let wave = |n: usize, a: usize, b: usize, m: usize| -> Vec<f32> {
        (0..n)
            .map(|i| ((a * i + b) % m) as f32 - (m / 2) as f32)
            .collect()
    };
    // samples, taps, sum, sum of squares, largest magnitude, y[0], y[L - 1], y[N / 2], last
    let table: [(usize, usize, i64, i64, i64, [i64; 4]); 4] = [
        (1000, 100, 88, 16_748_470, 277, [25, -138, 50, -4]),
        (4096, 513, 35, 47_501_457, 316, [25, 38, 84, 12]),
        (65_536, 4097, 25, 973_651_123, 304, [25, 63, -49, 0]),
        (1_048_576, 1025, 5, 12_618_348_321, 310, [25, 194, 81, -12]),
    ];
    for (n, l, sum, squares, largest, values) in table {
        let x = wave(n, 7, 3, 17);
        let taps: Vec<Complex32> = wave(l, 5, 1, 13).into_iter().map(Complex32::from).collect();
        let y = if n > 100_000 {
            // This signal is too long for the checkers.
            let filter = Convolver::new::<f32>(&VM7, &taps, 1, n, ConvolutionMode::Full).unwrap();
            filter.process(&x).unwrap().output.unwrap()
        } else {
            check(&taps, &x, 1, ConvolutionMode::Full).output.unwrap()
        };
        assert_eq!(y.len(), n + l - 1);
        let far = y.iter().map(|y| (y - y.round()).abs()).fold(0.0, f32::max);
        assert!(far < 0.01, "{n} {l}: {far} from an integer");
        let y: Vec<i64> = y.iter().map(|y| y.round() as i64).collect();
        assert_eq!(y.iter().sum::<i64>(), sum);
        assert_eq!(y.iter().map(|y| y * y).sum::<i64>(), squares);
        assert_eq!(y.iter().map(|y| y.abs()).max(), Some(largest));
        assert_eq!([y[0], y[l - 1], y[n / 2], y[n + l - 2]], values);
    }
}

/// An impulse shows every tap, at every place of a block and on both sides of its edges.
#[test]
fn impulses_show_the_taps() {
    let taps = complex(21, 5);
    let filter = Convolver::new::<Complex32>(&VM7, &taps, 1, 300, ConvolutionMode::Full).unwrap();
    let mut x = vec![Complex32::default(); 300];
    for at in [0, 1, 43, 44, 107, 108, 299] {
        x.fill(Complex32::default());
        x[at] = Complex32::new(0.0, 2.0);
        let y = run(&filter, &x).output.unwrap();
        for (i, y) in y.iter().enumerate() {
            let tap = i.checked_sub(at).and_then(|i| taps.get(i)).copied();
            let expected = tap.unwrap_or_default() * Complex32::new(0.0, 2.0);
            assert!((y - expected).norm() < 2e-6, "{at} {i}: {y} {expected}");
        }
    }
}

/// Channels are filtered apart: a NaN in one does not reach another.
#[test]
fn channels_do_not_know_of_each_other() {
    let taps = complex(40, 1);
    let x = complex(3 * 500, 2);
    let filter = Convolver::new::<Complex32>(&VM7, &taps, 3, 500, ConvolutionMode::Full).unwrap();
    let y = run(&filter, &x).output.unwrap();
    let mut spoilt = x.clone();
    spoilt[700].im = f32::NAN;
    let z = run(&filter, &spoilt).output.unwrap();
    assert_eq!(y[..539], z[..539]);
    assert_eq!(y[2 * 539..], z[2 * 539..]);
    let alone = run(&filter, &x[500..1000]).output.unwrap();
    assert_eq!(y[539..2 * 539], alone[..]);
}

/// A real filter equals the complex one without imaginary parts, except for the last few bits.
#[test]
fn odd_numbers_of_real_channels() {
    for channels in [1, 2, 3, 5] {
        check(
            &real_taps(17, 3),
            &floats(4, channels * 333),
            channels,
            ConvolutionMode::Same,
        );
    }
}

#[test]
fn a_pulse_is_found_where_it_is() {
    let pattern: Vec<Complex32> = (0..64)
        .map(|i| Complex32::from_polar(1.0, 0.02 * (i * i) as f32))
        .collect();
    let mut x: Vec<Complex32> = complex(2000, 9).iter().map(|z| z * 0.1).collect();
    for (i, p) in pattern.iter().enumerate() {
        x[1234 + i] += p;
    }
    let y = check(&matched(&pattern), &x, 1, ConvolutionMode::Valid)
        .output
        .unwrap();
    let peak = (0..y.len()).max_by(|&a, &b| y[a].norm().total_cmp(&y[b].norm()));
    assert_eq!(peak, Some(1234));
}

/// Scaling the input by a power of two scales every output exactly.
#[test]
fn powers_of_two_scale_every_bit() {
    let (taps, x) = (complex(50, 1), complex(400, 2));
    let filter = Convolver::new::<Complex32>(&VM7, &taps, 1, 400, ConvolutionMode::Full).unwrap();
    let y = run(&filter, &x).output.unwrap();
    let scaled: Vec<Complex32> = x.iter().map(|x| x * 1024.0).collect();
    let z = run(&filter, &scaled).output.unwrap();
    assert!(y.iter().zip(&z).all(|(y, z)| y * 1024.0 == *z));
}

/// A machine file changes cycles, and bits only where it changes the kernel chosen.
#[test]
fn other_machines_filter_too() {
    let (taps, x) = (complex(30, 1), complex(700, 2));
    let plan = |machine: &Arc<Machine>| {
        Convolver::new::<Complex32>(machine, &taps, 2, 350, ConvolutionMode::Full).unwrap()
    };
    let problem = ConvProblem::new(&taps, 2, 350, ConvolutionMode::Full).unwrap();
    let ours = plan(&VM7);
    let y = judged(&ours, &x, &problem);
    for text in [
        "base = \"vm9\"",
        "base = \"vm7\"\n[cp2]\nsections = { value = 3, unit = \"sections\" }",
        "base = \"vm7\"\n[cp2]\ndmem = { value = 16, unit = \"KiB\" }",
    ] {
        let filter = plan(&Arc::new(Machine::parse("changed.toml", text).unwrap()));
        let z = judged(&filter, &x, &problem);
        if filter.kernel() == ours.kernel() {
            assert_eq!(y.output, z.output, "{text}");
        }
    }
}
