; In-place passes of radix 8 and 4 over blocks of a page in DMEM.
;
; A page is a sequence of blocks of D bytes. A pass of radix r takes each block as r
; parts and replaces part m by output p of the same columns:
;   x[p] = sum over m of x[m] (w W_r^p)^m
; with one set of factors for all columns of a block. Neighbouring columns, a quad,
; therefore share their factors, whether they are neighbours of one row or two
; columns of a matrix. After passes of radix r0, r1, .. the
; numbers of a block (p0 p1 ..) are sub-transforms at the frequency p0 + r0 p1 + ..
;
; Sets of factors, in the order of the blocks. Radix 8: w^4, w^2, w, w W8. Radix 4: w^2, w.
; The page begins at a8, the sets at a2.
;
; Cycles besides the butterflies, on either machine. Radix 8: 50 and one of the caller. Radix 4: 30 to
; 32, less 28 for a joined second pass, plus 2 per block, 1 per block of 256 bytes, 3 per loop over inner iterations.

; The first pass of a transform whose factors are 1 except W8: pass t over a single block of D
; bytes, radix 8; the set at a2 is 1, W8.
.macro whole8 op, opn, t, D
    distances8 \t, \D/8, \D/8, 0, 0
    ldq q30, [a2]
    movi c1, \D/128 - 2
    pass8 \op, \opn, \t, a8
.endm

; Pass t of radix 8 over blocks of D bytes in a page of B bytes; `steps` is its step table.
.macro blocks8 op, opn, t, D, B, steps
    distances8 \t, \D/8, \D/8, 3, 1
    movi c1, \B/128 - 2
    shared_at \t, \steps, \D/8, 32*\B/\D, \D/128
    pass8 \op, \opn, \t, a8
.endm

; Step table of blocks8; its ring has the length of a block.
.macro steps8 D
    .rept \D/128, j
    .int 32*(j == 0), 32*((j + 2) % (\D/128) == 0), 16 + 7*\D/8*(j == \D/128 - 1), 16 + 7*\D/8*(j == 1 % (\D/128))
    .endr
.endm

; Constants of pass t >= 2 of radix 4 over blocks of D bytes. An iteration is `on` bytes from the
; one before; its columns 2, 3 are `beside` bytes from columns 0, 1, and with `own` they have
; factors of their own: w^2 of columns 0, 1, then of 2, 3, then w. Rows are D/4 bytes apart, or `apart` bytes.
.macro distances4 t, D, on=32, beside=16, own=0, apart=0
    .equ apart{\t}, \apart ? \apart : \D/4
    .equ beside{\t}, \beside
    .equ own{\t}, \own
    .equ on{\t}, \on
    ; Steps from the last iteration of a block to the next block, and from a factor to the next.
    .equ next{\t}, \D - (\D/128 - 1)*\on
    .equ each{\t}, 8 + 8*\own
.endm

; The pass of radix 4 over the blocks of a page of B bytes at a8.
.macro blocks4 op, opn, t, D, B
    distances4 \t, \D
    walk4 \op, \opn, \t, \D, \B, a8
.endm

; Two joined passes of radix 4: t, and u over blocks of D/4 bytes, whose sets follow those of t. The iterations of u
; follow those of t without a gap. The first reads of u must have been written two iterations before: the page has more
; than one block, or u has at least twelve iterations.
.macro blocks44 op, opn, t, u, D, B
    .if \D == \B && \D < 1536
    .error "the second pass of radix 4 would read what the first has not written"
    .endif
    distances4 \t, \D
    distances4 \u, \D/4
    walk4_first \op, \opn, \t, \D, a8
    walk4_on \op, \opn, \t, \D, \B, 1
    at4 a0, \u, \D/4, a8
    .if \D/4 > 256
    frame4_of \op, \opn, \u, \t, 1, 1, 1, [a0]+on{\u}, [a1]+on{\t}, 1, [a2]+each{\u}
    frame4_of \op, \opn, \u, \t, 1, 1, 1, [a0]+on{\u}, [a1], 2, [a2]+each{\u}
    at4 a1, \u, \D/4, a8
    inside4 \op, \opn, \u, \D/4
    walk4_on \op, \opn, \u, \D/4, \B, 1
    walk4_last \op, \opn, \u, 1
    .else
    frame4_of \op, \opn, \u, \t, 2, 1, 1, [a0]+on{\u}, [a1]+on{\t}, 3, [a2]+16
    frame4_of \op, \opn, \u, \t, 2, 2, 1, [a0]+next{\u}, [a1]
    at4 a1, \u, \D/4, a8
    walk4_on \op, \opn, \u, \D/4, \B, 2
    walk4_last \op, \opn, \u, 1
    .endif
.endm

; The pass of radix 4 over the blocks of a page of B bytes which begins at address `at`.
.macro walk4 op, opn, t, D, B, at
    walk4_first \op, \opn, \t, \D, \at
    walk4_on \op, \opn, \t, \D, \B, 1
    .if own{\t} || \D > 256 || \B == \D
    walk4_last \op, \opn, \t, 1
    .else
    walk4_last \op, \opn, \t, 2
    .endif
.endm

; Sets a{a} to the first iteration of pass t in a page at address `at`, in one word if possible.
.macro at4 a, t, D, at
    .if 3*apart{\t} + beside{\t} < 2048
    addi \a, \at, 3*apart{\t} + beside{\t}
    .else
    movi \a, 3*apart{\t} + beside{\t}
    add \a, \a, \at
    .endif
.endm

; The first block of a page, whose factors are in r48 and r49.
.macro walk4_first op, opn, t, D, at
    movi a0, 3*apart{\t} + beside{\t}
    add a0, a0, \at
    mov a1, a0
    .if own{\t} || \D > 256
    factor4 \t, 1, [a2]+each{\t}
    factor4 \t, 2, [a2]+each{\t}
    .else
    ldq q24, [a2]+16
    .endif
    frame4 \op, \opn, \t, 1, 0, 0, [a0]+on{\t}, [a1]+on{\t}
    .if \D == 256
    frame4 \op, \opn, \t, 1, 1, 0, [a0]+next{\t}, [a1]+on{\t}
    .else
    frame4 \op, \opn, \t, 1, 1, 0, [a0]+on{\t}, [a1]+on{\t}
    inside4 \op, \opn, \t, \D
    .endif
.endm

; The other blocks, the first of which is of kind s. Blocks of 256 bytes alternate, so that the last has the other kind.
.macro walk4_on op, opn, t, D, B, s
    .if own{\t} || \D > 256
    .if \B > \D
    loop \B/\D - 1 {
    block4 \op, \opn, \t, \D, \s, \s
    }
    .endif
    .elif \B > \D
    .if \B/\D%2
    .error "blocks of 256 bytes take turns, and their number is odd"
    .endif
    .if \B > 2*\D
    loop \B/\D/2 - 1 {
    block4 \op, \opn, \t, \D, 3 - \s, \s
    block4 \op, \opn, \t, \D, \s, 3 - \s
    }
    .endif
    block4 \op, \opn, \t, \D, 3 - \s, \s
    .endif
.endm

; The epilogue: last iterations, of kind s.
.macro walk4_last op, opn, t, s
    frame4 \op, \opn, \t, 0, \s, \s, [a0], [a1]+on{\t}
    tail4 \op, \opn, \t, \s
.endm

; A block after the first: its iterations are of kind s, those of the block before of kind q (frame4). If the kinds
; differ, one word loads both factors, otherwise one word loads each.
.macro block4 op, opn, t, D, s, q
    .if \s == \q
    frame4 \op, \opn, \t, \s, \q, \q, [a0]+on{\t}, [a1]+on{\t}, 1, [a2]+each{\t}
    .else
    frame4 \op, \opn, \t, \s, \q, \q, [a0]+on{\t}, [a1]+on{\t}, 3, [a2]+16
    .endif
    .if \D == 256
    frame4 \op, \opn, \t, \s, \s, \q, [a0]+next{\t}, [a1]+next{\t}, 2*(\s == \q), [a2]+each{\t}
    .else
    frame4 \op, \opn, \t, \s, \s, \q, [a0]+on{\t}, [a1]+next{\t}, 2*(\s == \q), [a2]+each{\t}
    inside4 \op, \opn, \t, \D
    .endif
.endm

; The iterations of a block except two; the last one steps to the next block.
.macro inside4 op, opn, t, D
    .if \D/128 > 8
    loop \D/128 - 3 {
    frame4 \op, \opn, \t, 1, 1, 1, [a0]+on{\t}, [a1]+on{\t}
    }
    .else
    .rept \D/128 - 3
    frame4 \op, \opn, \t, 1, 1, 1, [a0]+on{\t}, [a1]+on{\t}
    .endr
    .endif
    frame4 \op, \opn, \t, 1, 1, 1, [a0]+next{\t}, [a1]+on{\t}
.endm
