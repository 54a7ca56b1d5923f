/* Broken documents, broken text, unknown names. */
#include "tests/unit/solver/ir/broken.h"

static const struct broken brokens[] = {
    {"not JSON", "{'spec':1,",
     "t.json: line 1, column 10: string or '}' expected near end of file"},
    {"not an object", "[]", "t.json: a spec is a JSON object"},
    {"no version", "{'name':'t'}", "t.json: \"spec\" is missing; it must be an integer"},
    {"unknown version",
     "{'spec':2,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: spec: version 2 is unknown, this program reads version 1"},
    {"unknown member",
     "{'spec':1,'nmae':'t','name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name"
     "':'x','role':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output"
     "','dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{"
     "}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: nmae: unknown key; did you mean \"name\"?"},
    {"bad name",
     "{'spec':1,'name':'a b','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','ro"
     "le':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype'"
     ":'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shape"
     "s':{'target':[{'M':4,'N':6}]}}",
     "t.json: name: 'a b' is no name: letters, digits and _, at most 64, no digit firs"
     "t"},
    {"dim range upside down",
     "{'spec':1,'name':'t','dims':{'M':[9,1],'N':[1,64]},'tensors':[{'name':'x','role'"
     ":'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'f"
     "32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes':"
     "{'target':[{'M':4,'N':6}]}}",
     "t.json: dims.M: a range needs 0 <= min <= max"},
    {"dim with a reserved name",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64],'inf':3},'tensors':[{'name':'"
     "x','role':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','"
     "dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},"
     "'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: dims.inf: 'inf' cannot name a dim"},
    {"formula over an unknown dim",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64],'D':'N / H'},'tensors':[{'nam"
     "e':'x','role':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'outpu"
     "t','dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':"
     "{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: dims.D: unknown dim 'H'"},
    {"formula that does not parse",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64],'D':'N / '},'tensors':[{'name"
     "':'x','role':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output"
     "','dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{"
     "}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: dims.D: formula: column 5: expected an integer, a name or \"(\", found t"
     "he end; example: ceildiv(N, 128)\n"
     "    N / \n"
     "        ^"},
    {"unknown dtype",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'float','shape':['M','N']},{'name':'y','role':'output','dtype'"
     ":'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shape"
     "s':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].dtype: unknown dtype 'float': one of f64 f32 f16 bf16 e4m3 e5"
     "m2 i64 i32 i16 i8 u8 bool"},
    {"sub-byte dtype",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'i4','shape':['M','N']},{'name':'y','role':'output','dtype':'f"
     "32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes':"
     "{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].dtype: 'i4' has no whole byte an element: packed types are no"
     "t supported"},
    {"tf32 as storage",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'tf32','shape':['M','N']},{'name':'y','role':'output','dtype':"
     "'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes"
     "':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].dtype: tf32 is no storage type: use f32 and a tf32 track"},
    {"unknown role",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'inout','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].role: unknown role 'inout': one of input, weight, state, outp"
     "ut"},
    {"unknown dim in a shape",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','K']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].shape[1]: unknown dim 'K'"},
    {"rank 9",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':[1,1,1,1,1,1,1,1,1]},{'name':'y','role':'output'"
     ",'dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}"
     "},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].shape: at most 8 dimensions"},
    {"two tensors of one name",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'x','role':'input','dtype':'f"
     "32','shape':['M','N']},{'name':'y','role':'output','dtype':'f32','shape':['M','N"
     "']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'"
     "N':6}]}}",
     "t.json: tensors[1].name: a second tensor 'x'"},
    {"unknown fill",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N'],'fill':'gauss'},{'name':'y','role':'ou"
     "tput','dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f3"
     "2':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].fill: unknown fill 'gauss': one of normal, uniform, ints, zer"
     "os, ones, mask"},
    {"normal integers",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'i32','shape':['M','N'],'fill':'normal'},{'name':'y','role':'o"
     "utput','dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f"
     "32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].fill: i32 cannot be filled with 'normal'; use ints"},
    {"fill of an output",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N'],'fill':'zeros'}],'body':['y[m,n] = x[m,n]'],'tracks':{'f3"
     "2':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[1].fill: an output has no fill"},
    {"odd alignment",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N'],'align':6},{'name':'y','role':'output'"
     ",'dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}"
     "},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[0].align: an alignment is a power of two from the element's 4 by"
     "tes"},
    {"alias of another dtype",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f16','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N'],'may_alias':'x'}],'body':['y[m,n] = f32(x[m,n])'],'tracks"
     "':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[1].may_alias: 'x' is no input of the same dtype and shape"},
    {"no output",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']}],'body':['t[m,n] = x[m,n]'],'tracks':"
     "{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors: no tensor has the role output"},
    {"no track",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{},'shapes':{'targe"
     "t':[{'M':4,'N':6}]}}",
     "t.json: tracks: at least one track, as {\"f32\": {}}"},
    {"unknown track",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'fp32':{}},'shapes"
     "':{'target':[{'M':4,'N':6}]}}",
     "t.json: tracks.fp32: unknown track 'fp32': one of f64, f32, tf32, f16, bf16"},
    {"no target shape",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[]}}",
     "t.json: shapes: target: at least one shape"},
    {"shape without a dim",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4}]}}",
     "t.json: shapes.target[0]: no size for dim 'N'"},
    {"shape out of range",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':65}]}}",
     "t.json: shapes.target[0].N: 65 is outside the dim's range 1 to 64"},
    {"shape with an unknown dim",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6,'K':1}]}}",
     "t.json: shapes.target[0].K: unknown dim"},
    {"zero dim",
     "{'spec':1,'name':'t','dims':{'M':[0,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':0,'N':6}]}}",
     "t.json: M=0: dims of size 0 need \"zero_dims\": true in the policy"},
    {"empty body",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':[],'tracks':{'f32':{}},'shapes':{'target':[{'M':"
     "4,'N':6}]}}",
     "t.json: body: a body without statements"},
    {"two lines in one",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] =\\n x[m,n]'],'tracks':{'f32':{}},'shap"
     "es':{'target':[{'M':4,'N':6}]}}",
     "t.json: body[0]: one line a string"},
    {"stray byte",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] $ 2'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 17: '$' means nothing here\n"
     "  y[m,n] = x[m,n] $ 2\n"
     "                  ^"},
    {"number with a suffix",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] * 1.0f'],'tracks':{'f32':{}},'"
     "shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 19: letters behind a number\n"
     "  y[m,n] = x[m,n] * 1.0f\n"
     "                    ^\n"
     "  numbers have no suffix: write 1.0, or a cast"},
    {"number too large",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] + 99999999999999999999'],'trac"
     "ks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 19: the number 99999999999999999999 is too large\n"
     "  y[m,n] = x[m,n] + 99999999999999999999\n"
     "                    ^"},
    {"missing bracket",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n = x[m,n]'],'tracks':{'f32':{}},'shapes':"
     "{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 7: expected ',' between indices, found '='\n"
     "  y[m,n = x[m,n]\n"
     "        ^"},
    {"missing operand",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] +'],'tracks':{'f32':{}},'shape"
     "s':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 18: expected a value, found the end of the line\n"
     "  y[m,n] = x[m,n] +\n"
     "                   ^"},
    {"missing equals",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] x[m,n]'],'tracks':{'f32':{}},'shapes':{"
     "'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 8: expected '=' between target and value, found 'x'"
     "\n"
     "  y[m,n] x[m,n]\n"
     "         ^"},
    {"two statements on a line",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] y[m,n] = 1'],'tracks':{'f32':{"
     "}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 17: expected the end of the statement, found 'y'\n"
     "  y[m,n] = x[m,n] y[m,n] = 1\n"
     "                  ^"},
    {"half a conditional",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = m < 3 ? x[m,n]'],'tracks':{'f32':{}},"
     "'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 24: expected ':' between the two values of a conditi"
     "onal, found the end of the line\n"
     "  y[m,n] = m < 3 ? x[m,n]\n"
     "                         ^"},
    {"subscripts in a target",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m + 1,n] = x[m,n]'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 3: a target lists plain index names\n"
     "  y[m + 1,n] = x[m,n]\n"
     "    ^\n"
     "  to write at computed places, scatter-add with +="},
    {"reduction inside an expression",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = 1 + sum(n) x[m,n]'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 12: 'sum' inside an expression: a reduction is the o"
     "utermost operation of its statement\n"
     "  y[m] = 1 + sum(n) x[m,n]\n"
     "             ^\n"
     "  give the reduction a statement of its own"},
    {"one-argument max inside",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = 1 + max(n) x[m,n]'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 12: max takes 2 arguments, not 1\n"
     "  y[m] = 1 + max(n) x[m,n]\n"
     "             ^\n"
     "  a reduction is the outermost operation of its statement: give it a statement o"
     "f its own"},
    {"unknown function",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = epx(x[m,n])'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: unknown function 'epx'\n"
     "  y[m,n] = epx(x[m,n])\n"
     "           ^\n"
     "  solver/ir/op.h lists functions and reductions; a tensor is read with brackets: "
     "x[i]"},
    {"too few arguments",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = pow(x[m,n])'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: pow takes 2 arguments, not 1\n"
     "  y[m,n] = pow(x[m,n])\n"
     "           ^"},
    {"pad of no read",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = pad(3)'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 14: expected the tensor that pad() reads, found '3'"
     "\n"
     "  y[m,n] = pad(3)\n"
     "               ^"},
    {"deep nesting",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = ((((((((((((((((((((((((((((((((((((("
     "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
     "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
     "((((x[m,n]))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"
     "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"
     ")))))))))))))))))))))))))))))))))))))))))))))))))))'],'tracks':{'f32':{}},'shape"
     "s':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 210: an expression nested more than 200 deep\n"
     "  ...(((((((((((((((((((((((((((((((((((((((((((((x[m,n]))))))))))))))))))))))))"
     ")))))))))))))...\n"
     "                                                 ^"},
    {"a chain too long",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + "
     "1 + 1 + 1'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 809: an expression deeper than 200 operations\n"
     "  ...+ 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1"
     " + 1 + 1 + 1 ...\n"
     "                                                 ^\n"
     "  give a part of it its own statement"},
    {"use inside a block",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','use f(a = x)','}'],'tracks':{'f32"
     "':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 1: 'use' is not possible inside a sequential block\n"
     "  use f(a = x)\n"
     "  ^"},
    {"open block",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq m: M {','y[m,n] = x[m,n]'],'tracks':{'f32'"
     ":{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 1: expected '}' to close the sequential block, found"
     " the end of the body\n"
     "  y[m,n] = x[m,n]\n"
     "  ^"},
    {"unknown tensor, one near",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = xx[m,n]'],'tracks':{'f32':{}},'shapes"
     "':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: unknown tensor 'xx'\n"
     "  y[m,n] = xx[m,n]\n"
     "           ^\n"
     "  did you mean 'x'?"},
    {"unknown tensor, none near",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = weights[m,n]'],'tracks':{'f32':{}},'s"
     "hapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: unknown tensor 'weights'\n"
     "  y[m,n] = weights[m,n]\n"
     "           ^\n"
     "  declare it under tensors, or write it in a statement"},
    {"unknown index",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,k]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 14: unknown index or dim 'k'\n"
     "  y[m,n] = x[m,k]\n"
     "               ^\n"
     "  indices are those of the target and of the reduction; dims are declared under "
     "dims"},
    {"unknown dim, one near",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64],'WIDTH':3},'tensors':[{'name'"
     ":'x','role':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output'"
     ",'dtype':'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] / WIDHT'],'tracks':{"
     "'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 19: unknown index or dim 'WIDHT'\n"
     "  y[m,n] = x[m,n] / WIDHT\n"
     "                    ^\n"
     "  did you mean 'WIDTH'?"},
    {"tensor without brackets",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x'],'tracks':{'f32':{}},'shapes':{'ta"
     "rget':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: unknown index or dim 'x'\n"
     "  y[m,n] = x\n"
     "           ^\n"
     "  a tensor is read with brackets: x[...]"},
    {"input written",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['x[m,n] = 1','y[m,n] = x[m,n]'],'tracks':{'f32'"
     ":{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: 'x' is an input and cannot be written\n"
     "  x[m,n] = 1\n"
     "  ^\n"
     "  write another name, or make its role output"},
    {"written twice",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]','y[m,n] = 1'],'tracks':{'f32'"
     ":{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 1: 'y' is written twice, first in line 1\n"
     "  y[m,n] = 1\n"
     "  ^\n"
     "  each tensor is written by one statement, all of it"},
    {"output not written",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']},{'name':'z','role':'output','dtype':'f32','shape':['M']}"
     "],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':"
     "6}]}}",
     "t.json: tensors[2]: output 'z' is never written by the body"},
    {"input not read",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']},{'name':'k','role':'input','dtype':'i32','shape':['M'],'"
     "fill':{'kind':'ints','low':0,'high':'N - 1'}}],'body':['y[m,n] = x[m,n]'],'track"
     "s':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: tensors[2]: input 'k' is never read by the body"},
    {"circle",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['a[m,n] = x[m,n] + b[m,n]','b[m,n] = 2 * a[m,n]"
     "','y[m,n] = b[m,n]'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: the statement needs 'b' of line 2, which needs th"
     "is one\n"
     "  a[m,n] = x[m,n] + b[m,n]\n"
     "  ^\n"
     "  recurrences are written in a block: seq t: T { ... } with reads at t - 1"},
    {"reads itself",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] + y[m,n]'],'tracks':{'f32':{}}"
     ",'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: the statement reads 'y', which it writes itself\n"
     "  y[m,n] = x[m,n] + y[m,n]\n"
     "  ^\n"
     "  recurrences are written in a block: seq t: T { ... } with reads at t - 1"},
    {"dim as an index",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[M,n] = x[M,n]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 3: 'M' is a dim and cannot be an index\n"
     "  y[M,n] = x[M,n]\n"
     "    ^\n"
     "  indices have names of their own, such as i or n"},
    {"index twice",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','M']}],'body':['y[m,m] = x[m,m]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 5: index 'm' is listed twice\n"
     "  y[m,m] = x[m,m]\n"
     "      ^"},
};

static void errors_are_located(void **state)
{
    (void)state;
    broken_check(brokens, COUNT_OF(brokens));
}

/* Every prefix of a good spec ends in an error, never otherwise. */
static void prefixes_end_well(void **state)
{
    (void)state;
    const char *good = library_texts[0][1];
    for (size_t len = 0; len < strlen(good); len++) {
        struct arena arena;
        struct err err = {0};
        const struct op *op = NULL;
        arena_init(&arena, ARENA_BYTES_MAX);
        struct str text = quoted(&arena, good);
        text.len = len;
        assert_false(op_parse(&arena, text, "t.json", NULL, &op, &err));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_located),
        cmocka_unit_test(prefixes_end_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
