; machine: vm7
; Linear blocks whose lines are wrong.
.equ COUNT, -1
.const A = 1.0
.pointer p = c4 by 16
.endlinear
.program
.linear
.linear negative, COUNT
.linear half, 1.5
.linear register, r0
.linear counted, c0 at 3
.linear counted, c0 least 3
.linear counted, c0 multiple of 0
.linear lines, 8
.linear inner, 8
.pointer p = c4 by 16
.pointer p = c5 by 16
.pointer q = c4 + 0.5 by 16
.pointer many[100] = c4 by 16
.pointer r0
.pointer n = c4
.const A = 1.0, A = 2.0
.const B = 1.0 2.0 3.0
.const C = 1e300
.const D = cis(1, 0)
.const E = int(0.5)
.before x = q20
.before x@1 = q20, x@1 = q21
.before x@1 = c4
.after q20 = x@1
.after c4 = x
.after q20 = x, q20 = x
.interval 100000
.interval -1
.phase 2, 1
.phase 1, 0
.free c
.free r0 r1
.pair 3
label:
frob x, y
add x, y, y
ldq x, [p
ldq x, [q]
ldq x, [prr]
ldq x.lo@1, [p]
ldq r3, [p]
ldq A, [p]
add z, zz, A
add z, z, A
add z, A, A || ldq x, [p]
stop
jmp label
movi c0, 1
msk A
ldq x, [p]
ldq x, [p + 16]
ldq w[, [p]
ldq w[0.5], [p]
shl s, x, [p]
.dmem
.float 1.0
.endlinear extra
.endlinear
        stop
