/* Specs that read well but mean nothing: ranks, extents, types, bounds, blocks, use. */
#include "tests/unit/solver/ir/broken.h"

static const struct broken brokens[] = {
    {"too few subscripts",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m]'],'tracks':{'f32':{}},'shapes':{"
     "'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: 'x' has 2 dimensions, but 1 subscript is given\n"
     "  y[m,n] = x[m]\n"
     "           ^"},
    {"target rank",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m] = x[m,0]'],'tracks':{'f32':{}},'shapes':{"
     "'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: 'y' has 2 dimensions, but 1 is listed\n"
     "  y[m] = x[m,0]\n"
     "  ^"},
    {"extents disagree",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[n,m]'],'tracks':{'f32':{}},'shapes'"
     ":{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: index 'm' runs over M, but 'x' has N there\n"
     "  y[m,n] = x[n,m]\n"
     "           ^\n"
     "  if only a part is meant, give the extent: m:M"},
    {"extents disagree in a sum",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'w','role':'weight','dtype':'"
     "f32','shape':['M']},{'name':'y','role':'output','dtype':'f32','shape':['M']}],'b"
     "ody':['y[m] = sum(k) x[m,k] * w[k]'],'tracks':{'f32':{}},'shapes':{'target':[{'M"
     "':4,'N':6}]}}",
     "t.json: body line 1, column 24: index 'k' runs over N, but 'w' has M there\n"
     "  y[m] = sum(k) x[m,k] * w[k]\n"
     "                         ^\n"
     "  if only a part is meant, give the extent: k:N"},
    {"extent unknown",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = sum(k) x[m,0]'],'tracks':{'f32':{}},'shapes"
     "':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 12: the extent of index 'k' does not follow from the"
     " statement\n"
     "  y[m] = sum(k) x[m,0]\n"
     "             ^\n"
     "  write it: k:EXTENT, a formula over dims"},
    {"extent over an unknown dim",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = sum(k:K) x[m,0]'],'tracks':{'f32':{}},'shap"
     "es':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 14: unknown dim 'K'\n"
     "  y[m] = sum(k:K) x[m,0]\n"
     "               ^\n"
     "  declare it under dims"},
    {"extent against the target",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m:N] = x[0,m]'],'tracks':{'f32':{}},'shapes':{'t"
     "arget':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 3: index 'm' runs over N, but 'y' has M there\n"
     "  y[m:N] = x[0,m]\n"
     "    ^"},
    {"scan bounded by no index",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = sum(j <= k) x[m,j]'],'tracks':{'f32':"
     "{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 19: 'k' is no index of the target\n"
     "  y[m,n] = sum(j <= k) x[m,j]\n"
     "                    ^\n"
     "  a scan is bounded by an index of the target"},
    {"scatter with extents",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m:M,n] += (m,n) x[m,n]'],'tracks':{'f32':{}}"
     ",'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 3: the subscripts of a scatter-add have no extents\n"
     "  y[m:M,n] += (m,n) x[m,n]\n"
     "    ^"},
    {"scatter into a temporary",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['t[m] += (m,n) x[m,n]','y[m,n] = t[m]'],'tracks"
     "':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: the shape of 't' does not follow from a scatter-a"
     "dd\n"
     "  t[m] += (m,n) x[m,n]\n"
     "  ^\n"
     "  declare it under tensors with role output"},
    {"no common float",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f16','shape':['M','N']},{'name':'w','role':'input','dtype':'b"
     "f16','shape':['M','N']},{'name':'y','role':'output','dtype':'f32','shape':['M','"
     "N']}],'body':['y[m,n] = f32(x[m,n] + w[m,n])'],'tracks':{'f32':{}},'shapes':{'ta"
     "rget':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 21: f16 with bf16 has no common type\n"
     "  y[m,n] = f32(x[m,n] + w[m,n])\n"
     "                      ^\n"
     "  cast one of them: f32(...)"},
    {"value of another type",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'bf16','shape':['M','N']},{'name':'y','role':'output','dtype':"
     "'f32','shape':['M','N']}],'body':['y[m,n] = x[m,n]'],'tracks':{'f32':{}},'shapes"
     "':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: the value is bf16, but f32 is needed\n"
     "  y[m,n] = x[m,n]\n"
     "           ^\n"
     "  write f32(...)"},
    {"index into f32",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = argmax(n) x[m,n]'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: argmax gives i64, but 'y' is f32\n"
     "  y[m] = argmax(n) x[m,n]\n"
     "  ^\n"
     "  reduce into a temporary, then cast: y[m] = f32(k[m])"},
    {"bool in arithmetic",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] * (x[m,n] > 0)'],'tracks':{'f3"
     "2':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 17: f32 with bool has no common type\n"
     "  y[m,n] = x[m,n] * (x[m,n] > 0)\n"
     "                  ^\n"
     "  cast the bool, or use where(condition, a, b)"},
    {"number as a condition",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] ? 1 : 2'],'tracks':{'f32':{}},"
     "'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: '? :' needs bool, not f32\n"
     "  y[m,n] = x[m,n] ? 1 : 2\n"
     "           ^\n"
     "  cast it, or compare it: x != 0"},
    {"exp of an integer",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'k','role"
     "':'input','dtype':'i32','shape':['M'],'fill':{'kind':'ints','low':0,'high':'N - "
     "1'}},{'name':'y','role':'output','dtype':'f32','shape':['M']}],'body':['y[m] = e"
     "xp(k[m])'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 12: 'exp' needs floats, not i32\n"
     "  y[m] = exp(k[m])\n"
     "             ^\n"
     "  cast it: f32(...), or compare it: x != 0"},
    {"remainder of floats",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n] % 2'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 10: '%' needs integers, not f32\n"
     "  y[m,n] = x[m,n] % 2\n"
     "           ^\n"
     "  the remainder of floats is fmod(a, b)"},
    {"float subscript",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m, floor(n / 2.0)]'],'tracks':{'f32"
     "':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 15: a subscript is an integer, not f32\n"
     "  y[m,n] = x[m, floor(n / 2.0)]\n"
     "                ^\n"
     "  cast it: i64(...); / of integers already floors"},
    {"any of floats",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = any(n) x[m,n]'],'tracks':{'f32':{}},'shapes"
     "':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 15: any of f32\n"
     "  y[m] = any(n) x[m,n]\n"
     "                ^\n"
     "  compare it: x != 0"},
    {"sum of bools",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['y[m] = sum(n) x[m,n] > 0'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 22: sum of bool\n"
     "  y[m] = sum(n) x[m,n] > 0\n"
     "                       ^\n"
     "  to count, cast: sum(...) i64(...)"},
    {"literal too large",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'i8','shape':['M','N']},{'name':'y','role':'output','dtype':'i"
     "8','shape':['M','N']}],'body':['y[m,n] = x[m,n] + 300'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 19: 300 does not fit i8\n"
     "  y[m,n] = x[m,n] + 300\n"
     "                    ^"},
    {"float literal for an integer",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'k','role"
     "':'input','dtype':'i32','shape':['M'],'fill':{'kind':'ints','low':0,'high':'N - "
     "1'}},{'name':'y','role':'output','dtype':'i32','shape':['M']}],'body':['y[m] = k"
     "[m] > 2 ? 1.5 : 0'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 17: a float literal where i32 is needed\n"
     "  y[m] = k[m] > 2 ? 1.5 : 0\n"
     "                  ^\n"
     "  write an integer, or cast: i32(...)"},
    {"past the end",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m,n + 1]'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 16: subscript 1 of 'x' runs over 1..6, outside 0..5 "
     "at M=4 N=6\n"
     "  y[m,n] = x[m,n + 1]\n"
     "                 ^\n"
     "  if it may leave the tensor, write pad(...) for 0 or pad(..., value)"},
    {"before the start",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['y[m,n] = x[m - 1,n]'],'tracks':{'f32':{}},'sha"
     "pes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 14: subscript 0 of 'x' runs over -1..2, outside 0..3"
     " at M=4 N=6\n"
     "  y[m,n] = x[m - 1,n]\n"
     "               ^\n"
     "  if it may leave the tensor, write pad(...) for 0 or pad(..., value)"},
    {"gather without a range",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'k','role':'input','dtype':'i"
     "32','shape':['M'],'fill':{'kind':'ints','low':0,'high':'N'}},{'name':'y','role':"
     "'output','dtype':'f32','shape':['M']}],'body':['y[m] = x[m,k[m]]'],'tracks':{'f3"
     "2':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 12: subscript 1 of 'x' runs over 0..6, outside 0..5 "
     "at M=4 N=6\n"
     "  y[m] = x[m,k[m]]\n"
     "             ^\n"
     "  fill the index tensor with {\"kind\": \"ints\", \"low\": 0, \"high\": ...}, or"
     " write pad(...)"},
    {"gather by computed integers",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['j[m,n] = i64(x[m,n])','y[m] = x[m,j[m,0]]'],'track"
     "s':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 12: subscript 1 of 'x' cannot be proved inside 0..5 "
     "at M=4 N=6\n"
     "  y[m] = x[m,j[m,0]]\n"
     "             ^\n"
     "  fill the index tensor with {\"kind\": \"ints\", \"low\": 0, \"high\": ...}, or"
     " write pad(...)"},
    {"scatter outside",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'k','role':'input','dtype':'i"
     "32','shape':['M'],'fill':{'kind':'ints','low':0,'high':'N - 1'}},{'name':'y','ro"
     "le':'output','dtype':'f32','shape':['M']}],'body':['y[k[m]] += (m,n) x[m,n]'],'t"
     "racks':{'f32':{}},'shapes':{'target':[{'M':4,'N':4}],'verify':[{'M':3,'N':5}]}}",
     "t.json: body line 1, column 3: subscript 0 of 'y' runs over 0..4, outside 0..2 a"
     "t M=3 N=5\n"
     "  y[k[m]] += (m,n) x[m,n]\n"
     "    ^\n"
     "  the target of += has no outside: keep the subscript inside"},
    {"empty fill",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'k','role':'input','dtype':'i"
     "32','shape':['M'],'fill':{'kind':'ints','low':3,'high':2}},{'name':'y','role':'o"
     "utput','dtype':'f32','shape':['M']}],'body':['y[m] = x[m,k[m]]'],'tracks':{'f32'"
     ":{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: fill of 'k': 3..2 is empty"},
    {"argmax of nothing",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "i64','shape':['M','N']}],'body':['y[m,n] = argmax(j < n) x[m,j]'],'tracks':{'f32"
     "':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: argmax of nothing has no value at M=4 N=6\n"
     "  y[m,n] = argmax(j < n) x[m,j]\n"
     "  ^"},
    {"too many elements",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']},{'name':'z','role':'output','dtype':'f32','shape':['M * "
     "1000000','N * 1000000']}],'body':['y[m,n] = x[m,n]','z[i,j] = 0'],'tracks':{'f32"
     "':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: 'z' has 2^40 elements or more"},
    {"shape not positive",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']},{'name':'z','role':'output','dtype':'f32','shape':['M - "
     "4']}],'body':['y[m,n] = x[m,n]','z[i] = 0'],'tracks':{'f32':{}},'shapes':{'targe"
     "t':[{'M':4,'N':6}]}}",
     "t.json: dimension 0 of 'z', M - 4, is 0"},
    {"step without pad",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','y[t,n] = x[t,n] + y[t - 1,n]','}'"
     "],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 23: subscript 0 of 'y' runs over -1..2, outside 0..3"
     " at M=4 N=6\n"
     "  y[t,n] = x[t,n] + y[t - 1,n]\n"
     "                        ^\n"
     "  if it may leave the tensor, write pad(...) for 0 or pad(..., value)"},
    {"step ahead",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','y[t,n] = x[t,n] + pad(y[t + 1,n])"
     "','}'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 23: 'y' is read at a step that is not proved to be b"
     "efore 't'\n"
     "  y[t,n] = x[t,n] + pad(y[t + 1,n])\n"
     "                        ^\n"
     "  a sequential block is read at this step or at an earlier one, such as pad(x[t "
     "- 1, ...])"},
    {"target without the step",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','s[n] = x[t,n]','y[t,n] = s[n]','}"
     "'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 1: the target does not start with the sequential ind"
     "ex 't'\n"
     "  s[n] = x[t,n]\n"
     "  ^\n"
     "  in a seq block the sequential index is the first one of every target"},
    {"block of another length",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: N {','y[t,n] = x[t,n]','}'],'tracks':{'"
     "f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 3: index 't' runs over N, but 'y' has M there\n"
     "  y[t,n] = x[t,n]\n"
     "    ^"},
    {"untyped state",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','s[t,n] = x[t,n] + pad(s[t - 1,n])"
     "','y[t,n] = s[t,n]','}'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}"
     "}",
     "t.json: body line 2, column 23: the type of 's' is not known yet\n"
     "  s[t,n] = x[t,n] + pad(s[t - 1,n])\n"
     "                        ^\n"
     "  give pad a value with a type, such as f32(0), or make the tensor an output"},
    {"circle inside a step",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','a[t,n] = b[t,n] + x[t,n]','b[t,n]"
     " = a[t,n]','y[t,n] = b[t,n]','}'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4"
     ",'N':6}]}}",
     "t.json: body line 2, column 1: the statement needs 'b' of line 3, which needs th"
     "is one\n"
     "  a[t,n] = b[t,n] + x[t,n]\n"
     "  ^\n"
     "  recurrences are written in a block: seq t: T { ... } with reads at t - 1"},
    {"nested block",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['seq t: M {','seq u: N {','y[t,u] = x[t,u]','}'"
     ",'}'],'tracks':{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 2, column 1: 'seq' is not possible inside a sequential block\n"
     "  seq u: N {\n"
     "  ^"},
    {"no such spec",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use nowhere(x = x, y = y)'],'tracks':{'f32':{}"
     "},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: there is no spec 'nowhere' to use\n"
     "  use nowhere(x = x, y = y)\n"
     "  ^\n"
     "  specs are found by name in the folder of this spec"},
    {"uses itself",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use loop(x = x, y = y)'],'tracks':{'f32':{}},'"
     "shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: loop.json: body line 1, column 1: 'loop' uses its"
     "elf\n"
     "  use loop(x = x, y = y)\n"
     "  ^"},
    {"unknown formal",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use double(x = x, z = y)'],'tracks':{'f32':{}}"
     ",'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 19: 'double' has no tensor 'z'\n"
     "  use double(x = x, z = y)\n"
     "                    ^\n"
     "  see its tensors"},
    {"formal not given",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use double(x = x)','y[m,n] = x[m,n]'],'tracks'"
     ":{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: tensor 'y' of 'double' is not given\n"
     "  use double(x = x)\n"
     "  ^"},
    {"formal of another rank",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['use double(x = x, y = y)'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 23: 'y' has 1 dimensions, but 'y' of 'double' has 2"
     "\n"
     "  use double(x = x, y = y)\n"
     "                        ^"},
    {"formal of another dtype",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f16','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use double(x = x, y = y)'],'tracks':{'f32':{}}"
     ",'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 16: 'x' is f16, but 'x' of 'double' is f32\n"
     "  use double(x = x, y = y)\n"
     "                 ^"},
    {"shapes do not fit",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['N','M']}],'body':['use double(x = x, y = y)'],'tracks':{'f32':{}}"
     ",'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 23: dimension 0 of 'y' is N, but 'y' of 'double' has"
     " M there\n"
     "  use double(x = x, y = y)\n"
     "                        ^"},
    {"dim not deduced",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M']}],'body':['use window(x = x, y = y)'],'tracks':{'f32':{}},'sh"
     "apes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: dim 'D' of 'window' does not follow from the tens"
     "ors\n"
     "  use window(x = x, y = y)\n"
     "  ^\n"
     "  add: with D = FORMULA"},
    {"with of an unknown dim",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use double(x = x, y = y) with Q = 3'],'tracks'"
     ":{'f32':{}},'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 31: 'double' has no variable or constant dim 'Q'\n"
     "  use double(x = x, y = y) with Q = 3\n"
     "                                ^"},
    {"dim out of range",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use small(x = x, y = y)'],'tracks':{'f32':{}},"
     "'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: dim 'A' of 'small' would be 4, outside 1 to 2\n"
     "  use small(x = x, y = y)\n"
     "  ^"},
    {"error inside a used spec",
     "{'spec':1,'name':'t','dims':{'M':[1,64],'N':[1,64]},'tensors':[{'name':'x','role"
     "':'input','dtype':'f32','shape':['M','N']},{'name':'y','role':'output','dtype':'"
     "f32','shape':['M','N']}],'body':['use broken(x = x, y = y)'],'tracks':{'f32':{}}"
     ",'shapes':{'target':[{'M':4,'N':6}]}}",
     "t.json: body line 1, column 1: broken.json: body line 1, column 14: unknown tens"
     "or 'z'\n"
     "  y[a,b] = 2 * z[a,b]\n"
     "               ^\n"
     "  declare it under tensors, or write it in a statement"},
};

static void errors_are_located(void **state)
{
    (void)state;
    broken_check(brokens, COUNT_OF(brokens));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_located),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
