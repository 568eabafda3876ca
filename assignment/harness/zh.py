"""Every message of the homework in Chinese, by its English text (see words.py)."""

from __future__ import annotations

CHINESE: dict[str, str] = {
    # Parts, as in parts.py
    "Scaled dot-product attention": "缩放点积注意力",
    "Causal mask and heads": "因果掩码与多头",
    "Rotary positions (RoPE)": "旋转位置编码（RoPE）",
    "KV cache and decode": "KV cache 与 decode",
    "Grouped queries (GQA)": "分组查询注意力（GQA）",
    "Latent attention (MLA)": "多头潜在注意力（MLA）",
    "Sampling": "采样",
    "Exercises": "练习",
    "Accounting": "账本",
    "Word vectors (word2vec)": "词向量（word2vec）",
    # Axes of arrays
    "step {n}": "第 {n} 步",
    "batch {n}": "batch {n}",
    "token {n}": "token {n}",
    "position {n}": "位置 {n}",
    "feature {n}": "分量 {n}",
    "head {n}": "头 {n}",
    "kv head {n}": "KV 头 {n}",
    "query {n}": "query {n}",
    "key {n}": "key {n}",
    "chunk {n}": "第 {n} 块",
    "row {n}": "行 {n}",
    "column {n}": "列 {n}",
    "pair {n}": "第 {n} 对",
    "word {n}": "词 {n}",
    "negative {n}": "第 {n} 个负样本",
    "place {n}": "第 {n} 名",
    "question {n}": "第 {n} 题",
    "i {n}": "i = {n}",
    "j {n}": "j = {n}",
    "k {n}": "k = {n}",
    # draws.py
    "(grading draws other examples here than a run at home, the same for everybody)": (
        "（这一项评分时另抽例子，与自己运行时的不同，但全班都一样）"
    ),
    # compare.py
    "{what}: compared with {other}, which is no array": "{what}：与之比较的是{other}，不是数组",
    "{what}: got {got}, expected an array of shape {shape}": (
        "{what}：得到的是{got}，应为形状 {shape} 的数组"
    ),
    "{what}: shape {got}, expected {shape}": "{what}：形状是 {got}，应为 {shape}",
    "{what}: dtype {got}, expected {expected}": "{what}：dtype 是 {got}，应为 {expected}",
    "{what}: dtype {dtype}, expected float64 or float32": (
        "{what}：dtype 是 {dtype}，应为 float64 或 float32"
    ),
    "\nfloat32 went in and float64 came out: np.sqrt(64), np.eye(n) and np.float64 constants "
    "promote,\nPython floats (math.sqrt(64)) do not; angles need .astype(x.dtype)": (
        "\n输入是 float32，输出却是 float64：np.sqrt(64)、np.eye(n) 和 np.float64 常数会提升精度，"
        "\nPython 浮点数（math.sqrt(64)）不会；角度要用 .astype(x.dtype) 转换"
    ),
    "{what} was accepted; a ValueError is expected": "{what}：没有报错，应抛出 ValueError",
    "{what}: the result is the same": "{what}：结果没有变化，应该不同",
    "None (is a return missing?)": " None（是不是漏了 return？）",
    "the scalar {got!r}": "标量 {got!r}",
    "something of type {name}": "类型为 {name} 的对象",
    "{what}: shape {shape} and dtype {dtype} are right, values are not\n"
    "first wrong at {place}: got {got}, expected {expected}\n{count}": (
        "{what}：形状 {shape} 和 dtype {dtype} 都对，数值不对\n"
        "第一处错误：{place}；得到 {got}，应为 {expected}\n{count}"
    ),
    "{what}: shape {shape} and dtype {dtype} are right, values are not\n"
    "first wrong at {place}: got {got:.6g}, expected {expected:.6g}\n"
    "largest error {error:.2g} at {worst}, tolerance {tolerance:.0e}\n{count}{right}": (
        "{what}：形状 {shape} 和 dtype {dtype} 都对，数值不对\n"
        "第一处错误：{place}；得到 {got:.6g}，应为 {expected:.6g}\n"
        "最大误差 {error:.2g}（{worst}），容差 {tolerance:.0e}\n{count}{right}"
    ),
    "{what}: got {got} where {expected:.6g} is expected\nfirst wrong at {place}; {count}": (
        "{what}：得到 {got}，应为 {expected:.6g}\n第一处错误：{place}；{count}"
    ),
    "; {place} is right": "；正确：{place}",
    "; {axis}s 0 to {last} are right": "；正确：{places}",
    ", ": "，",
    "the only value": "唯一的那个值",
    "index {index}": "下标 {index}",
    "{n} of {total} values are wrong": "{total} 个值里错了 {n} 个",
    # counts.py
    "{call}\ngot the float {got!r}, expected an int: floats are exact up to 2**53 only. Where you "
    "divide, use //": (
        "{call}\n得到浮点数 {got!r}，应为整数：浮点数只在 2**53 以内是精确的。要除的地方请用 //"
    ),
    "{call}\ngot {got}, expected an int": "{call}\n得到的是{got}，应为整数",
    "{call}\ngot {got}, expected a number": "{call}\n得到的是{got}，应为一个数",
    "{call}\ngot {got}, expected a dict": "{call}\n得到的是{got}，应为字典",
    "{call}\ngot {got}, expected two ints": "{call}\n得到的是{got}，应为两个整数",
    "{call}\nthe dict lacks {name!r}": "{call}\n字典里缺 {name!r}",
    "{call}\nthe dict has {name!r}; its names are {names}": (
        "{call}\n字典里多了 {name!r}；应有的名字是 {names}"
    ),
    "{ratio:.6g} of it": "前者是后者的 {ratio:.6g} 倍",
    "{ratio:.4g} of it, {off}": "前者是后者的 {ratio:.4g} 倍，{off}",
    "too small by {by}": "少了 {by}",
    "too large by {by}": "多了 {by}",
    "{call}\ngot the right numbers in the wrong order": "{call}\n两个数都对，次序反了",
    "{call}\ngot {got}, expected {expected}: {compared}{overflow}\n{n} of {total} numbers "
    "are wrong": (
        "{call}\n得到 {got}，应为 {expected}，{compared}{overflow}\n{total} 个数里错了 {n} 个"
    ),
    "an integer of {bits} bits": "一个 {bits} 位的二进制整数",
    "\nthese are the last {bits} bits of the right number: an {kind} overflowed; Python's int does "
    "not": "\n这正是正确结果的最低 {bits} 位：{kind} 溢出了；Python 自己的 int 不会溢出",
    # cases.py, student.py
    "{file} is damaged ({error}); get a fresh copy of it": (
        "{file} 已损坏（{error}）；请重新取一份"
    ),
    "{section} {name} is not implemented yet": "{section} {name} 还没有实现",
    "{name} changed its input {label}; work on a copy of it": (
        "{name} 改动了输入 {label}；请在副本上操作"
    ),
    "{file} line {line} is not valid Python: {problem}": (
        "{file} 第 {line} 行不是合法的 Python：{problem}"
    ),
    "importing {module}.py ends the program (sys.exit or exit is called); put trial code under "
    'if __name__ == "__main__":': (
        "导入 {module}.py 时程序就退出了（调用了 sys.exit 或 exit）；试验用的代码请放到 "
        'if __name__ == "__main__": 下面'
    ),
    "importing {module}.py failed: {kind}: {problem}": "导入 {module}.py 失败：{kind}: {problem}",
    "number {n}": "（第 {n} 个参数）",
    # notebook.py
    "the check failed": "检查没有通过",
    "Run the notebook's first code cells: open_part was not called yet.": (
        "请先运行 notebook 最前面的代码单元：还没有调用 open_part。"
    ),
    "{name} is not implemented yet": "{name} 还没有实现",
    "{file} could not be read: {kind}: {problem}": "{file} 读不出来：{kind}: {problem}",
    # hints.py, told.py, report.py
    "There is no hint on {name!r}. There are hints on {parts}, each function, and bugs.{more}": (
        "没有关于 {name!r} 的提示。可以查的有：{parts}、每个函数，以及各个 bug。{more}"
    ),
    "\nBugs with this in their name: {bugs}": "\n名字里含有它的 bug：{bugs}",
    "{title}, hint {level} of {levels}": "{title}，提示 {level}（共 {levels} 级）",
    "more: pytest assignment/ --hint {name}:{level}": (
        "下一级：pytest assignment/ --hint {name}:{level}"
    ),
    "Part {part}, {title}": "第 {part} 部分，{title}",
    "Part {part} equals, in {tests} to {error:.0e}, {what}.": (
        "第 {part} 部分在{tests}中（误差 {error:.0e}）与此相同：{what}。"
    ),
    "1 test": " 1 个测试",
    "{n} tests": " {n} 个测试",
    " and, in the same code, ": "，同时又是",
    "; or ": "；或者 ",
    " (No test here tells these apart.)": "（这里没有测试能区分它们。）",
    "Part {part}: no known bug computes the same.": (
        "第 {part} 部分：没有已知的 bug 算出同样的结果。"
    ),
    "\nNo test was selected. Try: pytest assignment/ -k part4, or -k rope": (
        "\n没有选中任何测试。试试：pytest assignment/ -k part4，或 -k rope"
    ),
    "\nAttention and KV-cache decode ({package})\n": "\n注意力与 KV cache decode（{package}）\n",
    "Part {part}": "第 {part} 部分",
    "Total": "总分",
    "done": "完成",
    "not started": "还没开始",
    "next: {needs}": "下一个：{needs}",
    "waiting for {needs}": "在等 {needs}",
    "{n} failed": "{n} 个失败",
    "    hints: pytest assignment/ --hint {name}": "    提示：pytest assignment/ --hint {name}",
    "    run it alone: pytest {test}": "    单独运行：pytest {test}",
    "\nand {n} more, to look at after these:": "\n还有 {n} 个，修完上面的再看：",
    "  … (pytest -v shows all of them)": "  …（pytest -v 显示全部）",
    "\n1 more failure: the same tests on other inputs, or the same words": (
        "\n另有 1 个失败：同样的测试换了输入，或信息相同"
    ),
    "\n{n} more failures: the same tests on other inputs, or the same words": (
        "\n另有 {n} 个失败：同样的测试换了输入，或信息相同"
    ),
    "\nNext: {needs} (assignment/README.md §{section})": (
        "\n下一步：{needs}（assignment/README.zh.md §{section}）"
    ),
    # models.py, machines.py, usage.py
    "the logits": "logits",
    "{what} (step 0 is the prefill's)": "{what} (第 0 步是 prefill 的)",
    "the logits (step 0 is the prefill's, in two chunks)": "logits (第 0 步是 prefill 的，分两块)",
    "{what} of {place}": "{what}，{place}",
    "the logits of prefill": "prefill 的 logits",
    "the logits of mla_prefill": "mla_prefill 的 logits",
    "the logits of step {step}": "第 {step} 步的 logits",
    "the logits of {call} {step}": "第 {step} 次 {call} 的 logits",
    "the logits after {story}": "{story} 之后的 logits",
    "after {story}": "（在 {story} 之后）",
    "truncate to {length}": "truncate 到 {length}",
    "{name} of layer {layer} after {story}": "{story} 之后第 {layer} 层的 {name}",
    "first": "一",
    "second": "二",
    "prefill with another {name} token": "换掉第{name}个 token 的 prefill",
    "cache.length is {length!r} {when}, expected {expected}": (
        "cache.length 是 {length!r} {when}，应为 {expected}"
    ),
    "cache.length is {held} after {n} tokens; are all appended?": (
        "{n} 个 token 之后 cache.length 是 {held}；是不是都追加了？"
    ),
    "decode of a model with {heads} query heads and {groups} key/value heads stopped with "
    "ValueError: {error}\n"
    "does kv_cache.py still call scaled_dot_product_attention? Part 5 puts "
    "grouped_query_attention in its place (§5.1)": (
        "对 {heads} 个 query 头、{groups} 个 KV 头的模型做 decode 时抛出 ValueError: {error}\n"
        "kv_cache.py 是不是还在调用 scaled_dot_product_attention？第 5 部分要把它换成 "
        "grouped_query_attention（§5.1）"
    ),
    "it recomputes the prefix in place of using the cache (L2 §5.2)": (
        "它把前面的 token 重算了一遍，没有用 cache（L2 §5.2）"
    ),
    "decode with the old tokens' embeddings removed": "去掉旧 token 的 embedding 之后的 decode",
    "{call} {step} read older tokens again: {why}": "第 {step} 次 {call} 又读了旧的 token：{why}",
    "no old token was read again: mend the decode itself first, then see here": (
        "没有重读旧 token：先修好 decode 本身，再来看这里"
    ),
    "{call} {step} never projected its token through the model": (
        "第 {step} 次 {call} 没有让它的 token 经过模型的投影"
    ),
    "{call} {step} sent {rows} vectors through {matrix} where {batch} are new: {why}": (
        "第 {step} 次 {call} 让 {rows} 个向量过了 {matrix}，而新的只有 {batch} 个：{why}"
    ),
    # Part 1: what is compared, and the tests' titles
    "large": "很大的",
    "small": "很小的",
    "softmax of {size} scores": "{size}分数的 softmax",
    "softmax of scores with -inf": "含 -inf 的分数的 softmax",
    "the place of the largest weight": "最大权重的位置",
    "the sum of softmax weights": "softmax 权重之和",
    "attention of the three tokens of D3": "D3 里三个 token 的注意力",
    "attention of the three tokens of D3, their values times {factor}": (
        "D3 里三个 token 的注意力，value 乘以 {factor}"
    ),
    "attention over {n} keys": "对 {n} 个 key 的注意力",
    "attention over {n} reordered keys": "打乱次序后对 {n} 个 key 的注意力",
    "attention by two different queries": "两个不同 query 的注意力",
    "an output lies outside the range of the values it averages": (
        "有一个输出超出了被它平均的那些 value 的范围"
    ),
    "softmax along the last axis, in the dtype of its input": (
        "沿最后一维的 softmax，dtype 与输入相同"
    ),
    "softmax along the axis it is told": "沿指定那一维的 softmax",
    "softmax of scores near +-1000 neither overflows nor divides by zero": (
        "±1000 附近的分数：softmax 既不溢出，也不除以 0"
    ),
    "A score of -inf gets weight 0": "分数为 -inf 的权重是 0",
    "softmax(x + c) = softmax(x), and its weights sum to 1": (
        "softmax(x + c) = softmax(x)，权重之和为 1"
    ),
    "The three tokens worked by hand in D3 give [10, 0], [5, 5] and about [6, 4]": (
        "D3 手算的三个 token：[10, 0]、[5, 5]、约 [6, 4]"
    ),
    "Attention of one sequence; values may be wider than keys": (
        "一个序列的注意力；value 可以比 key 宽"
    ),
    "Attention with batch and head axes and a mask: True = may attend": (
        "带 batch 维、头维和掩码的注意力：True = 可以看"
    ),
    "Reordering keys with their values changes nothing; an output lies between its values": (
        "key 连同 value 换次序，结果不变；输出落在各 value 之间"
    ),
    "softmax of rows of very different size": "各行大小悬殊的 softmax",
    "softmax of rows of very different size in one array": "一个数组里各行大小悬殊的 softmax",
    "attention where all scores are very negative": "所有分数都很小时的注意力",
    "A hidden key has weight 0 where all scores are near -20,000 or -100,000 too": (
        "所有分数都在 -20,000 或 -100,000 附近时，看不见的 key 权重也是 0"
    ),
    "attention to keys of which some are zero": "有些 key 全是零时的注意力",
    "A key of zeros has the score 0, and its value counts": (
        "全零的 key 分数是 0，它的 value 照样算"
    ),
    "Attention over hundreds of keys, some of them hidden": "几百个 key 的注意力，其中一些看不见",
    # Part 2
    "the output before position {n}, the only one whose token was changed": (
        "位置 {n} 之前的输出（只改了这个位置的 token）"
    ),
    "the output where the token was changed": "token 改动之处的输出",
    "Each position sees itself and what came before": "每个位置看得到自己和前面的位置",
    "The queries are the LAST positions: the first of them already sees the cached keys": (
        "query 是最后几个位置：其中第一个就看得到已缓存的 key"
    ),
    "Head h takes columns h*d_h to (h+1)*d_h of every position": (
        "头 h 取每个位置的第 h*d_h 到 (h+1)*d_h 列"
    ),
    "Heads are laid side by side": "各头并排拼接",
    "merge_heads(split_heads(x, H)) = x, to the bit": (
        "merge_heads(split_heads(x, H)) = x，逐位相等"
    ),
    "Project, split, attend causally, merge and mix": "投影、拆头、因果注意力、合并、混合",
    "Change token j: the outputs before j stay what they were (L2 §2.5)": (
        "改 token j：j 之前的输出不变（L2 §2.5）"
    ),
    "The same for hundreds of positions": "几百个位置也一样",
    "Every position attends to itself and to all before it, in a long text too": (
        "长文本里每个位置也看到自己和前面的全部"
    ),
    "multi_head_attention over {n} positions": "{n} 个位置上的 multi_head_attention",
    # Part 3
    "apply_rope at {n}": "apply_rope，位置 {n}",
    "apply_rope at position {n}": "apply_rope，位置 {n}",
    "apply_rope at positions {positions}": "apply_rope，位置 {positions}",
    "apply_rope from position {n} on": "apply_rope，从位置 {n} 起",
    "apply_rope without theta, compared with theta = 10000": (
        "不传 theta 的 apply_rope，与 theta = 10000 比较"
    ),
    "q.k at positions {ends}, compared with {others}": "位置 {ends} 的 q·k，与 {others} 比较",
    "the length of rotated vectors": "旋转后向量的长度",
    "Pair i turns by theta ** (-2i / head_dim) per position": (
        "第 i 对每个位置转 theta ** (-2i / head_dim)"
    ),
    "An odd head_dim is refused with a ValueError": "head_dim 为奇数时抛出 ValueError",
    "Neighbouring pairs turn by position times frequency": "相邻的一对数转过 位置 × 频率",
    "positions (B, T): every row of the batch sits at positions of its own": (
        "positions 为 (B, T)：batch 的每一行有自己的位置"
    ),
    "Position 0 is not turned at all": "位置 0 完全不转",
    "q at m times k at n depends on m - n alone (L2 §2.7)": (
        "位置 m 的 q 与位置 n 的 k 的点积只依赖 m - n（L2 §2.7）"
    ),
    "A rotation changes no vector's length": "旋转不改变向量的长度",
    "A single new token (T = 1) is turned by its position, as in a decode step": (
        "单个新 token（T = 1）也按它的位置来转，就像一步 decode"
    ),
    "Positions may be large: the angles are float64 even where x is not": (
        "位置可以很大：即使 x 不是 float64，角度也是"
    ),
    "Hundreds of positions at once, as in a long prefill": "一次几百个位置，就像很长的 prefill",
    "apply_rope at {n} positions, theta = {theta}": "{n} 个位置上的 apply_rope，theta = {theta}",
    # Part 4
    "after {n} positions": "（{n} 个位置之后）",
    "A cache gives back every row it holds, however many there are": (
        "不论 cache 存了多少行，都全部返回"
    ),
    "Hundreds of tokens at once, and the same in three long chunks": (
        "几百个 token 一次读入，再分三大块读入"
    ),
    "the logits after a prefill of {n} tokens at once": "一次 prefill {n} 个 token 之后的 logits",
    "the logits after a prefill of {n} tokens behind {held} cached ones": (
        "已存 {held} 个位置时再 prefill {n} 个 token 之后的 logits"
    ),
    "Two models of one size read the same tokens; each step answers for its own": (
        "两个同样大小的模型读同样的 token，每一步各按自己的模型回答"
    ),
    "the logits beside another model": "另有一个模型时的 logits",
    "Decode steps up to hundreds of positions, each with all that came before": (
        "decode 一直走到几百个位置，每一步都看到前面的全部"
    ),
    "Some sixty tokens, each of which hangs on all before it": (
        "六十个左右的 token，每个都取决于前面的全部"
    ),
    "keys from append, in layer {layer} after {n} positions": (
        "第 {layer} 层、{n} 个位置之后 append 返回的 key"
    ),
    "values from append, in layer {layer} after {n} positions": (
        "第 {layer} 层、{n} 个位置之后 append 返回的 value"
    ),
    "keys from append into an empty cache": "向空 cache append 之后返回的 key",
    "the array that was appended, which append must not change": (
        "被追加的那个数组（append 不能改动它）"
    ),
    "of a new cache of 2 layers": "（新建的两层 cache）",
    "when only layer 0 of 2 holds 3 positions": "（两层里只有第 0 层存了 3 个位置时）",
    "when both layers hold 3 positions": "（两层都存了 3 个位置时）",
    "append of 2 positions of a cache of max_len 3 that holds 2 positions": (
        "max_len 为 3、已存 2 个位置的 cache，再追加 2 个位置"
    ),
    "append of 1 position to a full cache": "向已满的 cache 追加 1 个位置",
    "truncate to {n} of a cache of max_len 3 that holds 2 positions": (
        "max_len 为 3、已存 2 个位置的 cache，truncate 到 {n}"
    ),
    "after a prefill of {n}": "（prefill {n} 个 token 之后）",
    "prefill in chunks of {chunks}": "按 {chunks} 分块的 prefill",
    "the logits after truncate": "truncate 之后的 logits",
    "the logits beside another cache": "另有一个 cache 时的 logits",
    "decode after a prompt of {n} tokens": "prompt 为 {n} 个 token 之后的 decode",
    "generate after {n} of {all} tokens": "从 {all} 个 token 中的第 {n} 个之后接着 generate",
    "append returns every position of its layer, oldest first, in the cache's dtype": (
        "append 返回这一层的所有位置，旧的在前，dtype 是 cache 的"
    ),
    "length counts the positions that EVERY layer holds": "length 数的是每一层都存了的位置",
    "More than max_len positions, or truncating to more than it holds: ValueError": (
        "超过 max_len，或 truncate 到比已存的还多：ValueError"
    ),
    "Any order of append and truncate on two caches leaves each with its own rows": (
        "在两个 cache 上任意次序地 append、truncate，互不影响"
    ),
    "prefill of 1, 2, 3, ... tokens gives the reference's logits at every position": (
        "prefill 1、2、3…… 个 token，每个位置的 logits 都与参照一致"
    ),
    "A prefill into a cache that holds positions goes on where they end": (
        "向已有内容的 cache 做 prefill：从末尾接着走"
    ),
    "A prefill in any chunks equals one prefill": "怎样分块 prefill，都等于一次 prefill",
    "Tokens taken back with truncate leave no trace in the steps after them": (
        "用 truncate 收回的 token 不在后面的步骤里留下痕迹"
    ),
    "Two caches of one size hold two conversations": "两个同样大小的 cache 存两段对话",
    "Every decode step gives the logits of a recompute of the whole sequence": (
        "每一步 decode 的 logits 都等于重算整个序列"
    ),
    "Decode after a prompt of any length equals a prefill of everything so far, at every step": (
        "不论 prompt 多长，每一步 decode 都等于对到目前为止的全部做 prefill"
    ),
    "Any order of prefill chunks, decode steps and truncations equals a recompute": (
        "prefill 分块、decode、truncate 任意次序，都等于重算"
    ),
    "A decode step does the work of one token and never reads the old tokens again": (
        "一步 decode 只做一个 token 的工作，不再读旧 token"
    ),
    "generate makes the reference's greedy tokens, without the prompt": (
        "generate 生成与参照相同的贪心 token，不含 prompt"
    ),
    "After the first of its tokens, generate makes the others: any prompt, any number": (
        "从前几个 token 之后接着 generate 得到其余的：任意 prompt、任意个数"
    ),
    "A row that made eos is filled up with it; all rows ended, generation stops": (
        "生成过 eos 的行用 eos 补齐；所有行都结束时停止"
    ),
    # Part 5
    "grouped_query_attention with H = {heads}, G = {groups}": (
        "H = {heads}、G = {groups} 的 grouped_query_attention"
    ),
    "grouped_query_attention with 4 query heads and 3 key/value heads": (
        "4 个 query 头、3 个 KV 头的 grouped_query_attention"
    ),
    "GQA over equal values": "value 全都相等的 GQA",
    "GQA with other queries": "换了 query 的 GQA",
    "GQA with {n} groups of {size} heads": "{n} 组、每组 {size} 个头的 GQA",
    "GQA with {n} groups of {size} heads, compared with MHA": (
        "{n} 组、每组 {size} 个头的 GQA，与 MHA 比较"
    ),
    "{n} groups of {size} equal heads, pooled": "{n} 组、每组 {size} 个相同的头，池化之后",
    "Query head h reads key/value head h // R": "query 头 h 读 KV 头 h // R",
    "H query heads that G key/value heads cannot share evenly are refused with a ValueError": (
        "H 个 query 头不能被 G 个 KV 头平分时抛出 ValueError"
    ),
    "H heads that do not form G equal groups are refused with a ValueError": (
        "H 个头不能分成 G 个相等的组时抛出 ValueError"
    ),
    "GQA equals MHA with each group's K and V repeated: G = H is MHA, G = 1 is MQA (L2 §6.2)": (
        "GQA 等于把每组的 K、V 重复之后的 MHA：G = H 是 MHA，G = 1 是 MQA（L2 §6.2）"
    ),
    "Part 4's decode, with grouped_query_attention, on a model with G < H": (
        "第 4 部分的 decode 改用 grouped_query_attention，模型 G < H"
    ),
    "Any order of prefill chunks, decode steps and truncations equals a recompute, with G < H": (
        "prefill 分块、decode、truncate 任意次序，都等于重算（G < H）"
    ),
    "Group g of the pooled projection is the mean of heads g*R to (g+1)*R - 1": (
        "池化后投影的第 g 组是头 g*R 到 (g+1)*R - 1 的平均"
    ),
    "Identical heads pool back to the head they were copied from (L2 §6.3)": (
        "相同的头池化回被复制的那个头（L2 §6.3）"
    ),
    "Part 4's generate on a model with G < H: its cache has G heads": (
        "第 4 部分的 generate 用于 G < H 的模型：cache 有 G 个头"
    ),
    # Part 6
    "The same over hundreds of positions": "几百个位置上也一样",
    "mla_naive over {n} positions": "{n} 个位置上的 mla_naive",
    "Attention in the latent space over hundreds of positions": "几百个位置上的潜在空间注意力",
    "mla_absorbed over {n} positions": "{n} 个位置上的 mla_absorbed",
    "A latent cache gives back every row it holds, however many there are": (
        "不论潜在 cache 存了多少行，都全部返回"
    ),
    "Hundreds of tokens at once, and the same in three long chunks, for a latent model": (
        "潜在模型：几百个 token 一次读入，再分三大块读入"
    ),
    "Decode steps of a latent model up to hundreds of positions": (
        "潜在模型的 decode 一直走到几百个位置"
    ),
    "mla_absorbed with other queries": "换了 query 的 mla_absorbed",
    "mla_absorbed, compared with mla_naive, H = {n}": "mla_absorbed 与 mla_naive 比较，H = {n}",
    "latents of layer {layer} after positions {first} to {last} were appended": (
        "追加位置 {first} 到 {last} 之后第 {layer} 层的潜在向量"
    ),
    "RoPE keys of layer {layer} after positions {first} to {last} were appended": (
        "追加位置 {first} 到 {last} 之后第 {layer} 层的 RoPE key"
    ),
    "latents from append up to max_len": "一直追加到 max_len 时 append 返回的潜在向量",
    "Expand every head's keys and values from the latent, then attend": (
        "从潜在向量展开每个头的 key 和 value，再做注意力"
    ),
    "W_uk moves from the keys to the query, head by head": "W_uk 从 key 移到 query，逐头进行",
    "Attention in the latent space gives what the expanded heads give": (
        "在潜在空间里做注意力，结果与展开各头相同"
    ),
    "The two ways are the same computation (L2 §6.4)": "两种写法是同一个计算（L2 §6.4）",
    "The cache returns all it holds, counts whole positions, and forgets what it truncates": (
        "cache 返回所存的全部、按完整的位置计数、truncate 掉的不再出现"
    ),
    "More than max_len positions, or truncating to what it does not hold: ValueError": (
        "超过 max_len，或 truncate 到没有存的长度：ValueError"
    ),
    "mla_prefill of 1, 2, 3, ... tokens gives the reference's logits at every position": (
        "mla_prefill 1、2、3…… 个 token，每个位置的 logits 都与参照一致"
    ),
    "Every step from the latent cache gives the logits of a recompute": (
        "从潜在向量 cache 出发的每一步，logits 都等于重算"
    ),
    # Part 10, and how the time of a step grows
    "Fast decode in torch": "用 torch 快速 decode",
    "part 10 needs torch: pip install torch": "第 10 部分需要 torch：pip install torch",
    "part 10, fast decode in torch: pytest assignment/ -k part10": (
        "第 10 部分，用 torch 快速 decode：pytest assignment/ -k part10"
    ),
    "\n(Extra: {what})": "\n（附加：{what}）",
    "Part 10 (extra): {earned:g} / {total:g} points": (
        "第 10 部分（附加）：{earned:g} / {total:g} 分"
    ),
    "from context {short} to {long} a decode step takes {step:.1f} times as long, a recompute "
    "{all:.1f} times": (
        "上下文从 {short} 到 {long}，一步 decode 的时间变为 {step:.1f} 倍，重算变为 {all:.1f} 倍"
    ),
    "cannot be told on this device: {found}": "在这台设备上看不出来：{found}",
    "{found}: the step grows like a recompute, so the cache is not used (L2 §5.2)": (
        "{found}：一步的时间像重算一样增长，说明没有用 cache（L2 §5.2）"
    ),
    "{what}: a torch tensor is expected": "{what}：应为 torch tensor",
    "a new cache has length {length}, expected 0": "新建的 cache 长度是 {length}，应为 0",
    "{name} has {n} entries for 2 layers": "两层的 cache，{name} 却有 {n} 项",
    "{what} is not finite where unused": "{what} 在没用到的地方不是有限数",
    "length is {length}, not {expected}": "length 是 {length}，应为 {expected}",
    "keys or values moved: the cache was allocated again": (
        "key 或 value 挪了地方：cache 又分配了一次"
    ),
    "grouped_attention with length {n} of 9": "grouped_attention，长度 {n}（共 9）",
    "grouped_attention with a causal mask": "带因果掩码的 grouped_attention",
    "a tensor of {size} numbers was made where K has {n}: K or V was copied": (
        "生成了一个 {size} 个数的 tensor，而 K 有 {n} 个：K 或 V 被复制了"
    ),
    "a step made a tensor of {size} numbers; a layer's keys are {n}": (
        "一步里生成了一个 {size} 个数的 tensor；一层的 key 是 {n} 个"
    ),
    "generate: got {kind}, expected an int64 tensor": "generate：得到 {kind}，应为 int64 tensor",
    "StaticCache allocates (B, G, max_len, d_h) for each layer, and holds nothing": (
        "StaticCache 为每一层分配 (B, G, max_len, d_h)，里面什么也没有"
    ),
    "Keys and values stay where they are through prefill and decode, and length counts": (
        "prefill 和 decode 期间 key 和 value 不挪地方，length 计数正确"
    ),
    "grouped_attention reads the first `length` positions and no other": (
        "grouped_attention 只读前 `length` 个位置"
    ),
    "grouped_attention obeys a mask (T, S): True = may attend": (
        "grouped_attention 遵守掩码 (T, S)：True = 可以看"
    ),
    "grouped_attention makes no copy of K or V, neither R times nor once": (
        "grouped_attention 不复制 K 或 V，不复制 R 份，一份也不复制"
    ),
    "A decode step makes no tensor as large as the keys it reads": (
        "一步 decode 不生成和它所读的 key 一样大的 tensor"
    ),
    "generate makes the reference's greedy tokens, int64 (B, n), without the prompt": (
        "generate 生成与参照相同的贪心 token，int64 (B, n)，不含 prompt"
    ),
    # Part 7
    "{name} of one row alone, compared with {name} of six": (
        "单独一行的 {name}，与六行的 {name} 比较"
    ),
    "{name} of six rows": "六行的 {name}",
    "{name} of logits (2, 3, 4)": "形状 (2, 3, 4) 的 logits 的 {name}",
    "{name} lost the most likely token": "{name} 丢掉了最可能的 token",
    "Logits are divided by the temperature; they stay logits": "logits 除以温度；结果仍是 logits",
    "A temperature, k or p of 0 or less, or a p above 1, is refused with a ValueError": (
        "温度、k、p 小于等于 0，或 p 大于 1，抛出 ValueError"
    ),
    "The k largest logits stay, the others become -inf": "最大的 k 个 logit 留下，其余变成 -inf",
    "The smallest set that reaches p stays, with the token that crosses p": (
        "留下概率之和达到 p 的最小集合，越过 p 的那个 token 算在内"
    ),
    "Kept logits are unchanged and the largest ones; p keeps as many as it needs, no more": (
        "留下的是最大的那些 logit，数值不变；p 需要几个就留几个"
    ),
    "(..., V): one row alone, or rows of rows; k = V and p = 1 keep everything": (
        "(..., V)：单独一行，或多层的行；k = V、p = 1 时全部留下"
    ),
    # Part 8
    "Every number of a model counts once: the lecture's models and others, tied or not": (
        "模型里的每个数都算一次，只算一次：讲义里的模型和别的模型，共享 lm_head 与否都算对"
    ),
    "lm_head is multiplied, tied or not; norms and the embedding table are not": (
        "共享与否，lm_head 都参与矩阵乘法；归一化的权重和 embedding 查表不参与"
    ),
    "K and V of G heads in every layer, in the bytes asked for: 512 KiB in exercise 1": (
        "每一层 G 个头的 K 和 V，按给定的字节数；练习 1 是 512 KiB"
    ),
    "Each letter counts once, wherever it stands: 80,640 in exercise 3": (
        "每个字母不管出现在哪里都只算一次；练习 3 是 80,640"
    ),
    "A letter of two sizes, and a shape that does not fit its operand, raise a ValueError": (
        "一个字母有两种大小，或形状与字母个数对不上，抛出 ValueError"
    ),
    "FLOPs of every product and of the attention core, which counts what the mask allows": (
        "每个矩阵乘法和注意力核心的 FLOPs，核心只算掩码允许的部分"
    ),
    "The formulas give what the given model's Counter logs while it runs": (
        "公式的结果等于给定的模型运行时 Counter 记下的账"
    ),
    "With a cache nothing is computed twice: the FLOPs of the steps add up to a prefill's": (
        "有 cache 就没有重复计算：逐个 token 的 FLOPs 加起来等于一次 prefill 的"
    ),
    "forward_flops counts nothing for some operation": "forward_flops 有一项是 0",
    "behind a longer cache, the attention core must take more FLOPs": (
        "cache 更长，注意力核心的 FLOPs 应该更多"
    ),
    "With a cache a prefill and a step for each further token, without a pass for every token": (
        "有 cache 时一次 prefill，其后每个 token 一步；没有 cache 时每个 token 都要完整跑一遍"
    ),
    "The larger of arithmetic and traffic, on both sides of the ridge": (
        "计算和搬运两个时间里较大的那个，屋脊点两侧都对"
    ),
    "B f / (W + B k): the weights are read once, K and V for each sequence": (
        "B f / (W + B k)：权重只读一次，K 和 V 每个序列各读各的"
    ),
    "A larger batch helps, less and less: every sequence reads its own K and V": (
        "加大 batch 有用，但越来越不管用：每个序列读自己的 K 和 V"
    ),
    "twice the batch must give more than the intensity, and less than twice it": (
        "batch 加倍，强度应该变大，但不到两倍"
    ),
    "as the batch grows, the intensity must grow towards a limit": (
        "batch 越来越大时，强度应该增大并趋于一个上限"
    ),
    "Absorbed MLA: FLOPs of one token's core, and the bytes of latents and RoPE keys": (
        "吸收之后的 MLA：一个 token 的注意力核心的 FLOPs，以及潜在向量和 RoPE key 的字节数"
    ),
    # Part 9
    "embed looks the rows of tokens up, in the dtype of the table": (
        "embed 按 token 取出表里的行，dtype 与表相同"
    ),
    "embed(table, tokens) equals one-hot vectors times the table (L2 §1.8)": (
        "embed(table, tokens) 等于独热向量乘以表（L2 §1.8）"
    ),
    "embed, compared with one-hot @ table": "embed，与 one-hot @ table 比较",
    "The probability of a negative is its count to the power 0.75, with the sum 1": (
        "负样本的概率是词频的 0.75 次方，总和为 1"
    ),
    "The sum is 1, a longer text changes nothing, and rare words gain against the text": (
        "总和为 1，文本变长结果不变，少见词比在文本里更常被抽到"
    ),
    "the sum of the probabilities": "概率之和",
    "noise_distribution of counts that are {times} times as large": (
        "词频都乘以 {times} 之后的 noise_distribution"
    ),
    "the words in order of their probability": "按概率排列的词",
    "a rare word must gain more against its share of the text than a frequent one": (
        "和在文本里所占的份额相比，少见词应当比高频词得益更多"
    ),
    "The loss of each pair: one seen word against K negatives, which are summed": (
        "每一对的损失：一个真实出现的词，K 个负样本，后者求和"
    ),
    "The loss of dot products in the thousands neither overflows nor becomes infinite": (
        "点积上千时，损失既不溢出，也不变成无穷大"
    ),
    "sgns_loss of very large dot products": "点积非常大时的 sgns_loss",
    "The derivatives by center, context and negatives, in this order": (
        "依次对中心词、上下文、负样本的导数"
    ),
    "The gradients are the slopes of the formula, measured by finite differences": (
        "梯度等于用有限差分量出的公式的斜率"
    ),
    "The gradients are the slopes of your own sgns_loss, measured by finite differences": (
        "梯度等于用有限差分量出的、你自己的 sgns_loss 的斜率"
    ),
    "sgns_loss at two different points": "两个不同点上的 sgns_loss",
    "Other places for the same negatives change no loss, and no gradient but by its place": (
        "同样的负样本换个次序，损失不变，梯度也只是跟着换位置"
    ),
    "sgns_loss with the negatives in another order": "负样本换了次序的 sgns_loss",
    "the gradient by {name}": "对 {name} 的梯度",
    "A step moves every word of the batch against the sum of its gradients, at the old vectors": (
        "一步更新让批里的每个词逆着它的梯度之和移动，梯度都在旧向量处取"
    ),
    "A batch moves each word by the sum of what its pairs do alone, however often it occurs": (
        "一批里每个词移动多少，等于各对单独作用之和，不管这个词出现几次"
    ),
    "the input vectors after a step": "更新一步之后的 inputs",
    "the output vectors after a step": "更新一步之后的 outputs",
    "a step of {n} pairs, compared with the sum of what each does alone": (
        "{n} 对的一步更新，与各对单独更新之和比较"
    ),
    "A small step lowers the loss of the batch, and twice the learning rate goes twice as far": (
        "走一小步，这批的损失就下降；学习率加倍，移动也加倍"
    ),
    "the loss of the batch went from {before:.6f} to {after:.6f}": (
        "这批的损失从 {before:.6f} 变成了 {after:.6f}"
    ),
    "a step with twice the learning rate": "学习率加倍的一步",
    "The words with the largest cosine, the nearest first; excluded words are passed over": (
        "余弦相似度最大的词，最近的在前；被排除的词跳过"
    ),
    "Longer or shorter vectors are no nearer, and a word is nearest to itself": (
        "向量变长变短，远近不变；离一个词最近的是它自己"
    ),
    "the words found by nearest, sorted": "nearest 找到的词，排序之后",
    "nearest among vectors of other lengths": "向量长度改变之后的 nearest",
    "the word nearest to word {n}": "离词 {n} 最近的词",
    "The word nearest to v(a*) - v(a) + v(b), which is none of the three asked with": (
        "离 v(a*) - v(a) + v(b) 最近的词，三个提问词除外"
    ),
    "the answers of analogy": "analogy 的答案",
    "train_step of a batch in which no word comes twice": "train_step，批里没有重复的词",
    "train_step of a batch in which words come several times": "train_step，批里有重复的词",
    "Vectors that your train_step learned find their topics and answer analogies": (
        "用你的 train_step 学出的向量找得到话题词，答得出类比"
    ),
    "trained vectors": "训练出的向量",
    "of the 54 words nearest to 18 words {n} are of their topic; 40 must be": (
        "18 个词各取最近的 3 个，共 54 个，其中 {n} 个是话题词，至少要有 40 个"
    ),
    "{n} of 90 analogies are right; 60 must be": "90 道类比答对了 {n} 道，至少要对 60 道",
    "three arrays, by center, context and negatives": "三个数组，依次对应中心词、上下文和负样本",
    "two arrays, the new inputs and outputs": "两个数组，新的 inputs 和新的 outputs",
    "{what}, the input vectors": "{what}，输入向量 inputs",
    "{what}, the output vectors": "{what}，输出向量 outputs",
    "{what} must return {expected}": "{what} 应该返回{expected}",
    "analogy must return the number of one word, an integer": (
        "analogy 应该返回一个词的编号，是整数"
    ),
    # Part 11
    "L2 exercise 1: the parameters of the model": "L2 练习 1：模型的参数量",
    "L2 exercise 1: the share of attention": "L2 练习 1：注意力所占的比例",
    "L2 exercise 1: the cache of a token in int8": "L2 练习 1：每 token 的 int8 KV cache",
    "L2 exercise 2: Q with negative sampling": "L2 练习 2：负采样的 Q",
    "L2 exercise 2: Q with the full softmax": "L2 练习 2：完整 softmax 的 Q",
    "L2 exercise 2: how many times as much": "L2 练习 2：相差多少倍",
    "L2 exercise 3: FLOPs of a contraction": "L2 练习 3：一次缩并的 FLOPs",
    "L2 exercise 4: intensity at S = 128": "L2 练习 4：S = 128 时的强度",
    "L2 exercise 4: intensity at S = 1024": "L2 练习 4：S = 1024 时的强度",
    "L2 exercise 4: intensity at S = 32768": "L2 练习 4：S = 32768 时的强度",
    "L2 exercise 5: four contexts of 128K in FP8": "L2 练习 5：四个 128K 上下文，FP8",
    "L2 exercise 5: four contexts of 128K in BF16": "L2 练习 5：四个 128K 上下文，BF16",
    "L2 exercise 5: the cache beside the weights": "L2 练习 5：KV cache 与权重相比",
    "L2 exercise 6: FLOPs with a cache": "L2 练习 6：用 cache 的 FLOPs",
    "L2 exercise 6: FLOPs without a cache": "L2 练习 6：不用 cache 的 FLOPs",
    "L2 exercise 6: what the cache saves": "L2 练习 6：cache 省了多少倍",
    "L2 exercise 7: MLA's cache of a token in BF16": "L2 练习 7：MLA 每 token 的 KV，BF16",
    "L2 exercise 7: MLA's cache of a token in FP8": "L2 练习 7：MLA 每 token 的 KV，FP8",
    "L2 exercise 7: the same with MHA": "L2 练习 7：换成 MHA",
    "L2 exercise 7: MHA beside MLA": "L2 练习 7：MHA 是 MLA 的多少倍",
    "L2 exercise 10: bytes of SwiGLU's elementwise work": "L2 练习 10：SwiGLU 逐元素运算的字节数",
    "L2 exercise 10: bytes of the norms": "L2 练习 10：RMSNorm 的字节数",
    "D3 question 3: the length of q": "D3 自测 3：q 的长度",
    "D3 question 3: W^q of one head": "D3 自测 3：一个头的 W^q",
    "D3 question 3: W^q of the layer": "D3 自测 3：整层的 W^q",
    "D3 question 4: how the attention matrix grows": "D3 自测 4：注意力矩阵变大多少",
    "D3 question 7: the output of token 3, first number": "D3 自测 7：token 3 的输出，第一个数",
    "D3 question 7: the output of token 3, second number": "D3 自测 7：token 3 的输出，第二个数",
    "{answer} is not the answer\n{why}": "{answer} 不对\n{why}",
    "{answer} has too few significant digits: {n}, where {wanted} are asked for": (
        "{answer} 的有效数字太少：只有 {n} 位，至少要 {wanted} 位"
    ),
    "\nit is right as far as it goes": "\n就给出的这几位来说是对的",
    "the answer is more than 0": "答案大于 0",
    "the number is right, its unit is not: {why}": "数对了，单位不对：{why}",
    "K, M, G are powers of 1000 and Ki, Mi, Gi of 1024; a byte (B) is 8 bits (b)": (
        "K、M、G 是 1000 的幂，Ki、Mi、Gi 是 1024 的幂；1 字节（B）是 8 比特（b）"
    ),
    "with % it is hundredths, without it a fraction of 1": "带 % 是百分数，不带就是小数",
    "K, M, G, T, P are powers of 1000, B is a billion": ("K、M、G、T、P 是 1000 的幂，B 是十亿"),
    "too small by a factor of {n}": "只有答案的 1/{n}",
    "too large by a factor of {n}": "是答案的 {n} 倍",
    "off by a power of ten or of 1024: look at the unit and at the exponent": (
        "差了 10 或 1024 的幂：看看单位和指数"
    ),
    "close, within 3 %: round once, at the end; or a small term is counted or left out": (
        "很接近，相差不到 3 %：只在最后四舍五入一次；或者多算、漏算了一个小项"
    ),
    "read as {value:.6g}; asked is {kind}; no known mistake gives this": (
        "读作 {value:.6g}；问的是{kind}；没有哪个已知的错误会得到这个数"
    ),
    "{answer} is the shape of a matrix; {kind} is asked for": (
        "{answer} 是矩阵的形状；问的是{kind}"
    ),
    "rows: the input's length; columns: the output's": "行数是输入长度，列数是输出长度",
    "a number of parameters": "参数个数",
    "a number of bytes": "字节数",
    "a number of floating-point operations": "浮点运算次数",
    "FLOPs per byte": "每字节的 FLOPs",
    "how many times as much": "倍数",
    "a share of the whole": "占总数的比例",
    "a plain number": "一个数",
    "a time": "时间",
    "a speed": "速度",
    "rows and columns": "行数和列数",
    '{text} is no shape; expected rows and columns, as in "12 x 34"': (
        '{text} 不是形状；应写行数和列数，例如 "12 x 34"'
    ),
    "a unit is missing: {kind} is asked for, as in {example}": (
        "没有写单位：问的是{kind}，例如 {example}"
    ),
    "{unit} measures {other}; {kind} is asked for, as in {example}": (
        "{unit} 是{other}的单位；问的是{kind}，例如 {example}"
    ),
    "{text} looks like a calculation; write its result, or leave the quotes away and let Python "
    "compute it": "{text} 像是算式；请写结果，或者去掉引号，让 Python 去算",
    "{unit} is no unit that is known here; {kind} is asked for, as in {example}": (
        "不认识单位 {unit}；问的是{kind}，例如 {example}"
    ),
    "got {got}; {kind} is asked for, as in {example}": (
        "得到的是{got}；问的是{kind}，例如 {example}"
    ),
    "{text} is not a finite number": "{text} 不是有限的数",
    "an answer has at most {n} characters: a number and its unit, without the calculation": (
        "答案最多 {n} 个字符：只写数和单位，不写算式"
    ),
    "{text} does not begin with a number": "{text} 不是以数字开头",
    "the comma in {text}: it separates thousands here, as in 12,345; write decimals with a point": (
        "{text} 里的逗号：这里逗号只作千位分隔，如 12,345；小数请用点"
    ),
    "{text} is too large or too small to be meant": "{text} 太大或太小，不像是答案",
}
