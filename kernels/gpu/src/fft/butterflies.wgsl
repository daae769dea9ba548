// Forward transforms of a few numbers, in natural order.

fn product(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Product with -i.
fn turned(z: vec2f) -> vec2f {
    return vec2f(z.y, -z.x);
}

fn conjugate(z: vec2f) -> vec2f {
    return vec2f(z.x, -z.y);
}

fn dft2(x: array<vec2f, 2>) -> array<vec2f, 2> {
    return array(x[0] + x[1], x[0] - x[1]);
}

fn dft3(x: array<vec2f, 3>) -> array<vec2f, 3> {
    let sum = x[1] + x[2];
    let across = 0.8660254037844386 * turned(x[1] - x[2]);
    let middle = x[0] - 0.5 * sum;
    return array(x[0] + sum, middle + across, middle - across);
}

fn dft4(x: array<vec2f, 4>) -> array<vec2f, 4> {
    let a = x[0] + x[2];
    let b = x[0] - x[2];
    let c = x[1] + x[3];
    let d = turned(x[1] - x[3]);
    return array(a + c, b + d, a - c, b - d);
}

fn dft5(x: array<vec2f, 5>) -> array<vec2f, 5> {
    let a = x[1] + x[4];
    let b = x[2] + x[3];
    let c = turned(x[1] - x[4]);
    let d = turned(x[2] - x[3]);
    let p = x[0] + 0.30901699437494745 * a - 0.8090169943749475 * b;
    let q = x[0] - 0.8090169943749475 * a + 0.30901699437494745 * b;
    let r = 0.9510565162951535 * c + 0.5877852522924731 * d;
    let s = 0.5877852522924731 * c - 0.9510565162951535 * d;
    return array(x[0] + a + b, p + r, q + s, q - s, p - r);
}

fn dft7(x: array<vec2f, 7>) -> array<vec2f, 7> {
    // Cosines and sines of 1, 2 and 3 sevenths of a turn.
    let c1 = 0.6234898018587336;
    let c2 = -0.22252093395631440;
    let c3 = -0.9009688679024191;
    let s1 = 0.7818314824680298;
    let s2 = 0.9749279121818236;
    let s3 = 0.4338837391175581;
    let a = x[1] + x[6];
    let b = x[2] + x[5];
    let c = x[3] + x[4];
    let d = turned(x[1] - x[6]);
    let e = turned(x[2] - x[5]);
    let f = turned(x[3] - x[4]);
    let p = x[0] + c1 * a + c2 * b + c3 * c;
    let q = x[0] + c2 * a + c3 * b + c1 * c;
    let r = x[0] + c3 * a + c1 * b + c2 * c;
    let t = s1 * d + s2 * e + s3 * f;
    let u = s2 * d - s3 * e - s1 * f;
    let v = s3 * d - s1 * e + s2 * f;
    return array(x[0] + a + b + c, p + t, q + u, r + v, r - v, q - u, p - t);
}

fn dft8(x: array<vec2f, 8>) -> array<vec2f, 8> {
    let r = 0.7071067811865476;
    let e = dft4(array(x[0], x[2], x[4], x[6]));
    let o = dft4(array(x[1], x[3], x[5], x[7]));
    let a = r * vec2f(o[1].x + o[1].y, o[1].y - o[1].x);
    let b = turned(o[2]);
    let c = r * vec2f(o[3].y - o[3].x, -o[3].x - o[3].y);
    return array(
        e[0] + o[0], e[1] + a, e[2] + b, e[3] + c,
        e[0] - o[0], e[1] - a, e[2] - b, e[3] - c,
    );
}

fn dft16(x: array<vec2f, 16>) -> array<vec2f, 16> {
    // Powers of the 16th root of 1.
    let w1 = vec2f(0.9238795325112867, -0.3826834323650898);
    let w2 = vec2f(0.7071067811865476, -0.7071067811865476);
    let w3 = vec2f(0.3826834323650898, -0.9238795325112867);
    let w6 = vec2f(-0.7071067811865476, -0.7071067811865476);
    let w9 = vec2f(-0.9238795325112867, 0.3826834323650898);
    let a = dft4(array(x[0], x[4], x[8], x[12]));
    let b = dft4(array(x[1], x[5], x[9], x[13]));
    let c = dft4(array(x[2], x[6], x[10], x[14]));
    let d = dft4(array(x[3], x[7], x[11], x[15]));
    let p = dft4(array(a[0], b[0], c[0], d[0]));
    let q = dft4(array(a[1], product(w1, b[1]), product(w2, c[1]), product(w3, d[1])));
    let r = dft4(array(a[2], product(w2, b[2]), turned(c[2]), product(w6, d[2])));
    let s = dft4(array(a[3], product(w3, b[3]), product(w6, c[3]), product(w9, d[3])));
    return array(
        p[0], q[0], r[0], s[0], p[1], q[1], r[1], s[1],
        p[2], q[2], r[2], s[2], p[3], q[3], r[3], s[3],
    );
}
