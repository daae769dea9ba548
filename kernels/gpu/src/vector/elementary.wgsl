// Elementary functions to a few units of the last place, which those of the language are not.

// 10 log10 of a normal number or 0.
fn decibels(power: f32) -> f32 {
    let bits = bitcast<u32>(power);
    if power == 0.0 {
        return bitcast<f32>(bits | 0xff800000u);
    }
    // The number is m 2^e, with m from about sqrt(1/2) to sqrt(2).
    let above = (bits & 0x7fffffu) > 0x3504f3u;
    let e = f32(i32(bits >> 23u) - select(127, 126, above));
    let m = bitcast<f32>((bits & 0x7fffffu) | select(0x3f800000u, 0x3f000000u, above));
    // log m = 2 artanh s.
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let series = q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q / 11.0))));
    let log = 2.0 * s + 2.0 * s * series;
    // 10 log10 2 in two parts, of which the first has so few bits that its product is exact.
    return e * 3.009765625 + (e * 0.0005343316398119521 + 4.342944819032518 * log);
}

// The root of a number, refined by one step: that of the language may be wrong by more than a unit.
fn root(power: f32) -> f32 {
    let estimate = sqrt(power);
    if power == 0.0 || power > 3e38 {
        return estimate;
    }
    return estimate + fma(-estimate, estimate, power) / (2.0 * estimate);
}

// The angle of a complex number, -pi to pi.
fn phase(z: vec2f) -> f32 {
    let size = abs(z);
    let most = max(size.x, size.y);
    let least = min(size.x, size.y);
    var angle = 0.0;
    if most > 0.0 {
        // Tangents of at most an eighth of half a turn, from 0 or from a quarter of it.
        let large = least > 0.41421356 * most;
        let t = select(least, least - most, large) / select(most, least + most, large);
        let q = t * t;
        var series = 1.0 / 19.0;
        series = 1.0 / 17.0 - q * series;
        series = 1.0 / 15.0 - q * series;
        series = 1.0 / 13.0 - q * series;
        series = 1.0 / 11.0 - q * series;
        series = 1.0 / 9.0 - q * series;
        series = 1.0 / 7.0 - q * series;
        series = 1.0 / 5.0 - q * series;
        series = 1.0 / 3.0 - q * series;
        angle = t - t * (q * series);
        angle += select(0.0, 0.7853981633974483, large);
    }
    if size.y > size.x {
        angle = 1.5707963267948966 - angle;
    }
    let signs = bitcast<vec2u>(z) & vec2u(0x80000000u);
    if signs.x != 0u {
        angle = 3.141592653589793 - angle;
    }
    return bitcast<f32>(bitcast<u32>(angle) | signs.y);
}
