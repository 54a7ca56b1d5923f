#ifndef VERIFY_PTX_ATOM_INT_H
#define VERIFY_PTX_ATOM_INT_H

/* Operations and types of atom and red, as an instruction's mode and extra. */
enum atom_op {
    ATOM_AND,
    ATOM_OR,
    ATOM_XOR,
    ATOM_CAS,
    ATOM_EXCH,
    ATOM_ADD,
    ATOM_INC,
    ATOM_DEC,
    ATOM_MIN,
    ATOM_MAX
};
enum atom_type {
    ATOM_U16,
    ATOM_U32,
    ATOM_S32,
    ATOM_U64,
    ATOM_S64,
    ATOM_F32,
    ATOM_F64,
    ATOM_F16,
    ATOM_BF16,
    ATOM_F16X2,
    ATOM_BF16X2,
    ATOM_B128
};

#endif
