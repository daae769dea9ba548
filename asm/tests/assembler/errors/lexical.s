; Characters and literals that form no tokens.
        add r0, r1, r2 € 
        movi a0, 12ab
        movi a0, 99999999999999999999
        lif r0, 1e400
        .include "open
        stop
        /* the end of this file
