"""What the grader says, in Chinese, by its English text (see words.py).

What the homework's tests say stands in assignment/harness/zh.py; titles of hidden tests stand here,
since students do not get this file.
"""

CHINESE: dict[str, str] = {
    # Between the members of a list, between notes, and behind a sentence
    ", ": "、",
    "; ": "；",
    ".": "。",
    " ": "",
    " or ": " 或 ",
    "{sentence}.": "{sentence}。",
    "{student}: {why}.": "{student}：{why}。",
    "{n} of {all}": "{n} / {all}",
    # States of submissions and of tests
    "graded": "已评分",
    "partial": "部分超时",
    "missing": "无可评内容",
    "error": "评分出错",
    "passed": "通过",
    "failed": "未通过",
    "not started": "还没开始",
    "not started yet": "还没开始",
    "waiting": "等待中",
    "waits for another function": "在等另一个函数",
    "out of time": "超时",
    "public": "公开",
    "hidden": "隐藏",
    "Public": "公开",
    "Hidden": "隐藏",
    # Titles of hidden tests, and what they compare
    "Teacher-forced decode steps on SmolLM2-135M agree with the float64 reference": (
        "在 SmolLM2-135M 上逐步给定 token 的 decode 与 float64 参照一致"
    ),
    "Decode of several rows up to some seventy positions": "几行一起 decode，走到七十来个位置",
    "The same of a model with G < H, and of one row up to hundreds of positions": (
        "同上，模型 G < H；再有一行走到几百个位置"
    ),
    "A cache of any size holds max_len positions and no more, and says so": (
        "不论多大的 cache 都正好存 max_len 个位置，再多就报错"
    ),
    "truncate to {n} of a cache that holds {held} positions": (
        "已存 {held} 个位置的 cache，truncate 到 {n}"
    ),
    "append of {n} positions behind {held} of max_len {max_len}": (
        "max_len 为 {max_len}、已存 {held} 个位置，再追加 {n} 个"
    ),
    "after what was refused": "（拒绝之后）",
    "keys from append into the last room": "追加到正好存满时 append 返回的 key",
    "values from append into the last room": "追加到正好存满时 append 返回的 value",
    "append of 1 position to a full cache": "向已满的 cache 追加 1 个位置",
    "Tokens taken back with truncate leave no trace in what follows": (
        "用 truncate 收回的 token 不在后文留下痕迹"
    ),
    "Some three hundred tokens; and the same room when the text ends after a few": (
        "生成三百个左右的 token；以及同样的上限、几个 token 之后就结束的文本"
    ),
    "Sizes that are in no public test": "公开测试里没有的大小",
    "the logits of SmolLM2-135M": "SmolLM2-135M 的 logits",
    "after truncate": "（truncate 之后）",
    "the logits after a rollback": "回退之后的 logits",
    # suite.py, carry.py, remote.py: what happened to a test
    "right on the public case and wrong on a hidden one of the same kind": (
        "公开的例子对，同类的隐藏例子错"
    ),
    "this hidden test fails": "这个隐藏测试没有通过",
    "right with trusted versions of the other parts": "其他部分换成可信版本之后是对的",
    "fails also with trusted versions of the other parts": "其他部分换成可信版本之后仍然不对",
    " (stopped)": "（已中止）",
    "{call} did not return within {n:.3g} s (stopped)": "{call} 在 {n:.3g} 秒内没有返回（已中止）",
    "{call} ended the program: {how}": "{call} 让程序结束了：{how}",
    "{call} changed its input {name}": "{call} 改动了输入 {name}",
    "the submission has used its {n:g} s for public tests (stopped)": (
        "这份提交用完了公开测试可用的 {n:g} 秒（已中止）"
    ),
    "the submission has used its {n:g} s for all calls (stopped)": (
        "这份提交用完了全部调用合计 {n:g} 秒的时间（已中止）"
    ),
    "no more calls are made, for {problem}": "不再继续调用，原因：{problem}",
    "the worker that held this {kind} was stopped": "存放这个 {kind} 的进程已被中止",
    "returned {n} MiB or more than {values} values; at most {most} MiB can be returned": (
        "返回了 {n} MiB，或多于 {values} 个值；最多能返回 {most} MiB"
    ),
    "; only numpy and the standard library are installed here": "；这里只装了 numpy 和标准库",
    "the process closed its side of the pipe": "进程关闭了管道",
    "the process was stopped by {name}": "进程被 {name} 终止",
    "the process exited with status {n}": "进程以状态码 {n} 退出",
    # pool.py, record.py
    "The grader stopped this submission after {n:.0f} s: neither result nor error by then.": (
        "评分程序在 {n:.0f} 秒后中止了这份提交：到那时既没有结果，也没有报错。"
    ),
    "The grader's process for this submission {how}.": "评这份提交的进程{how}。",
    "ended without a result (exit code {code})": "没有给出结果就结束了（退出码 {code}）",
    "was killed by {name}": "被 {name} 杀掉了",
    "; the machine may be short of memory": "；这台机器可能内存不足",
    "The grader failed: {what}": "评分程序出错：{what}",
    "not handed in, graded as unfinished: {files}; hand in what is done": (
        "没有交，按未完成评分：{files}；写好的请一并交上来"
    ),
    "an earlier ": "先前的 ",
    "; graded anew": "；已重新评分",
    "{why}; run `grader run` again to replace it.": "{why}；请再运行一次 `grader run` 来替换它。",
    "could not be read ({problem})": "读不出来（{problem}）",
    "is not a plain file of sensible size": "不是大小合理的普通文件",
    "belongs to another student": "是另一个学生的",
    "is damaged or not the grader's": "已损坏，或不是评分程序写的",
    "was written by an older grader": "是旧版评分程序写的",
    "was written by a newer grader": "是新版评分程序写的",
    "… and {n} more notes": "…… 另有 {n} 条",
    # intake.py, archives.py, notebook.py: what was handed in
    "another submission has the same id {name}; both are graded": (
        "另一份提交的 id 也是 {name}，两份都评了分"
    ),
    "found in {where}/, the only submission in {folder}/": (
        "在 {where}/ 里找到，它是 {folder}/ 里唯一的提交"
    ),
    "The folder cannot be read ({problem}).": "文件夹读不出来（{problem}）。",
    "It is a symbolic link, and links are not followed.": "这是一个符号链接，而链接不予跟随。",
    "It holds none of {files}, no notebook and no zip or tar archive.": (
        "里面没有 {files} 中的任何一个，也没有 notebook、zip 或 tar 压缩包。"
    ),
    "It holds none of {files} and no notebook, at most {depth} levels down.": (
        "往下 {depth} 层之内，没有 {files} 中的任何一个，也没有 notebook。"
    ),
    " Note: {note}.": "注意：{note}。",
    "Note: {note}. ": "注意：{note}。",
    " Hand in these files, in a folder or a zip archive, or a notebook.": (
        "请把这些文件放进一个文件夹或 zip 压缩包交上来，或者交 notebook。"
    ),
    "found {found}: rename it to {expected} if it is meant": (
        "有一个 {found}：如果它就是 {expected}，请改成这个文件名再交"
    ),
    "Beside the submissions and not looked at: {files}. What is somebody's work must be a "
    "folder with it, a zip or tar archive, or a notebook.": (
        "提交旁边还有这些，没有看：{files}。如果其中有谁的作业，要放进文件夹、zip 或 tar 压缩包，"
        "或者是 notebook。"
    ),
    "It holds {n} modules and helper modules; at most {most} are graded.": (
        "里面有 {n} 个模块（含辅助模块）；最多评 {most} 个。"
    ),
    "Its code is larger than {n} MiB together, the most that is graded.": (
        "代码合计超过 {n} MiB，这是评分的上限。"
    ),
    "Its folders lie too deep in one another to be read.": "文件夹嵌套太深，读不了。",
    "{folder}/ is unreadable ({problem})": "{folder}/ 读不出来（{problem}）",
    "{file} is unreadable ({problem}) and was ignored": "{file} 读不出来（{problem}），已忽略",
    "{file} is a symbolic link and was ignored": "{file} 是符号链接，已忽略",
    "{file} is not a plain file and was ignored": "{file} 不是普通文件，已忽略",
    "modules in {other}/ were ignored: {chosen}/ is nearer": (
        "{other}/ 里的模块没有用：{chosen}/ 离得更近"
    ),
    "not importable by their names, ignored: {files}": "文件名不能导入，已忽略：{files}",
    "the notebook was ignored: modules were handed in": "notebook 没有用：已经交了模块",
    "the notebook {other} was ignored: the notebooks of the parts were taken": (
        "{other} 没有用：用的是各部分的 notebook"
    ),
    "the notebook {other} was ignored: {chosen} was taken": "{other} 没有用：用的是 {chosen}",
    "It holds more than {n} entries.": "里面的条目多于 {n} 个。",
    "{file} occurs twice; the last one was taken": "{file} 出现了两次；用的是后一个",
    "It holds more than {n} Python files and notebooks.": (
        "里面的 Python 文件和 notebook 多于 {n} 个。"
    ),
    "{file} is larger than {n} MiB, the most that is read of one notebook.": (
        "{file} 超过 {n} MiB，这是一个 notebook 的上限。"
    ),
    "{file} is larger than {n} MiB, the most that is read of one Python file.": (
        "{file} 超过 {n} MiB，这是一个 Python 文件的上限。"
    ),
    "Its Python files and notebooks are larger than {n} MiB together.": (
        "Python 文件和 notebook 合计超过 {n} MiB。"
    ),
    "{file} is an archive inside the submission and was ignored": (
        "{file} 是提交里面的压缩包，已忽略"
    ),
    "The archive is not a plain file.": "压缩包不是普通文件。",
    "The archive is empty: 0 bytes.": "压缩包是空的：0 字节。",
    "The archive is larger than {n} MiB, the most that is read.": (
        "压缩包超过 {n} MiB，这是读取的上限。"
    ),
    "The archive unpacks to more than {n} MiB, the most that is read.": (
        "压缩包解开之后超过 {n} MiB，这是读取的上限。"
    ),
    "The {kind} archive is cut short (unexpected end).": "{kind} 压缩包不完整（提前结束）。",
    "The {kind} archive is damaged: {problem}": "{kind} 压缩包已损坏：{problem}",
    "The zip archive is cut short: its table of contents is missing.": (
        "zip 压缩包不完整：缺少目录。"
    ),
    "The archive is encrypted ({file} needs a password).": "压缩包加了密（{file} 需要密码）。",
    "{file} is named like an archive but does not start like a zip or tar file; its first bytes "
    "are "
    "{head!r}. Expected a .zip, .tar, .tar.gz, .tar.xz or .tar.bz2.": (
        "{file} 的名字像压缩包，开头却不是 zip 或 tar；最前面的字节是 {head!r}。应为 .zip、.tar、"
        ".tar.gz、.tar.xz 或 .tar.bz2。"
    ),
    "{file} is compressed by zip method {method}, which is not read; expected an ordinary zip "
    "(deflate).": "{file} 用的 zip 压缩方法 {method} 不支持；应为普通的 zip（deflate）。",
    "The entry {name} is a symbolic link; links are not accepted, only plain files.": (
        "条目 {name} 是符号链接；只收普通文件，不收链接。"
    ),
    "The entry {name} is a hard link; links are not accepted, only plain files.": (
        "条目 {name} 是硬链接；只收普通文件，不收链接。"
    ),
    "The entry {name} is a device or pipe, not a file.": "条目 {name} 是设备或管道，不是文件。",
    "The entry {name} has a NUL byte in its name.": "条目 {name} 的名字里有 NUL 字节。",
    "The entry {name} has an absolute path.": "条目 {name} 用了绝对路径。",
    "The entry {name} has a drive letter in its path.": "条目 {name} 的路径里有盘符。",
    "The entry {name} climbs out of the archive by '..'.": "条目 {name} 用“..”跑到了压缩包外面。",
    "The entry {name}… has a name longer than {n} bytes.": "条目 {name}… 的名字超过 {n} 字节。",
    "The entry {name}… has a path longer than {n} bytes.": "条目 {name}… 的路径超过 {n} 字节。",
    "The notebook has no code cell with anything in it.": "notebook 里没有写了内容的代码单元。",
    "The notebook's code is larger than {n} KiB, the most that is read.": (
        "notebook 的代码超过 {n} KiB，这是读取的上限。"
    ),
    "The notebook is not readable JSON ({problem}). Expected a file saved by Jupyter.": (
        "notebook 不是能读的 JSON（{problem}）。应为 Jupyter 保存的文件。"
    ),
    "The file is JSON but not a notebook: it names no nbformat.": (
        "文件是 JSON，但不是 notebook：没有写 nbformat。"
    ),
    "The notebook has format {found}; expected format {expected}. Open it in a current Jupyter and "
    "save it again.": (
        "notebook 的格式是 {found}，应为 {expected}。请用新版 Jupyter 打开再保存一次。"
    ),
    "unknown": "未知",
    "The notebook has no list of cells.": "notebook 里没有单元列表。",
    "Cell {n} of the notebook has no readable source.": "notebook 的第 {n} 个单元读不出内容。",
    "{file} was not handed in.": "没有交 {file}。",
    # policy.py: how a grade came about
    "no grade": "没有成绩",
    "no grade: the grader failed on this submission; run `grader run` again": (
        "没有成绩：评分程序在这份提交上出了错；请再运行一次 `grader run`"
    ),
    "no grade: the result has no test of part {parts}, for which the policy gives points; run "
    "`grader run --regrade`": (
        "没有成绩：结果里没有第 {parts} 部分的测试，而规则给了这部分分数；请运行 "
        "`grader run --regrade`"
    ),
    "no grade: which attempt is the last is not known": "没有成绩：不知道哪一次提交是最后一次",
    "nothing gradable was handed in": "没有交可以评分的内容",
    "part {part} reached {reached:.0f} % of its points, {percent:g} % needed": (
        "第 {part} 部分得到了 {reached:.0f} % 的分数，要求 {percent:g} %"
    ),
    "so the total counts at most {percent:g} % of the maximum": (
        "因此总分最多计满分的 {percent:g} %"
    ),
    "no submission time known: no late penalty applied": "不知道提交时间：没有扣迟交的分",
    "; its name says LATE": "；文件名里写着 LATE",
    "extension until {moment} UTC": "延期到 {moment} UTC",
    "{time} late, after the last date {moment} UTC: 0 points": (
        "迟交 {time}，已过最后期限 {moment} UTC：0 分"
    ),
    "{time} late: {percent:g} % of {of} taken off": "迟交 {time}：扣掉{of}的 {percent:g} %",
    "the score": "得分",
    "the maximum": "满分",
    "{n} minutes": "{n} 分钟",
    "{n:.1f} hours": "{n:.1f} 小时",
    "{n:.1f} days": "{n:.1f} 天",
    "best of {n} attempts: {name}": "{n} 次提交里最好的一次：{name}",
    "last of {n} attempts: {name}": "{n} 次提交里最后的一次：{name}",
    "not counted, for they have no grade: {names}": "不计，因为没有成绩：{names}",
    "another submission has the same id": "另一份提交的 id 相同",
    "{student}: which of {names} is the last is not known, for {undated} has no submission time; "
    "no "
    "grade is given.": (
        "{student}：不知道 {names} 里哪一次是最后一次，因为 {undated} 没有提交时间；没有给成绩。"
    ),
    "{names}: submissions of the same id, each scored by itself. Say whose they are in a CSV file "
    "(submission,student,submitted_at) given with --submitted.": (
        "{names}：这些提交的 id 相同，各自计分。请用 CSV 文件（submission,student,submitted_at）"
        "写明是谁的，以 --submitted 给出。"
    ),
    "{name}: in the submissions file, but without a result.": (
        "{name}：在提交时间的文件里，但没有结果。"
    ),
    "{name}: has an extension, but no result.": "{name}：有延期，但没有结果。",
    # run.py, table.py, grades.py: the terminal
    "{submissions}, {where}, {model}": "{submissions}，{where}，{model}",
    "{shard}, {where}": "{shard}，{where}",
    "1 submission": "1 份提交",
    "{n} submissions": "{n} 份提交",
    "1 submission: ": "1 份提交：",
    "{n} submissions: ": "{n} 份提交：",
    "{n} at once, sandbox: {tier}": "同时评 {n} 份，沙箱：{tier}",
    "workers: {n} on {machines} machine(s), sandbox: {tiers}": (
        "{machines} 台机器上的 {n} 个 worker，沙箱：{tiers}"
    ),
    "shard {shard} of {n}": "第 {shard} 片（全班 {n} 份）",
    "with the real model": "含真实模型",
    "without the real model": "不含真实模型",
    "Results: {folder}/": "结果：{folder}/",
    "grading": "评分中",
    "left": "剩余",
    "{n} of {all} done, about {s:.0f} s left": "完成 {n} / {all}，大约还要 {s:.0f} 秒",
    "{n} {state}": "{n} 份{state}",
    " ({n} kept from an earlier run)": "（其中 {n} 份沿用先前的结果）",
    "none finished": "没有完成的",
    "student": "学生",
    "state": "状态",
    "of {most}": "满分 {most}",
    "first problem": "第一个问题",
    "  {points}/{most} points": "  {points}/{most} 分",
    "from {source}, graded {when}, sandbox: {tier}": "来自 {source}，评分于 {when}，沙箱：{tier}",
    "not used": "没有用",
    "public {public}, hidden {hidden}": "公开 {public}，隐藏 {hidden}",
    "with the student's own: {message}": "用学生自己的：{message}",
    "first bad step {n}": "第一个出错的步：{n}",
    "largest error {value:.3g}": "最大误差 {value:.3g}",
    "tolerance {value}": "容差 {value}",
    "note: {note}": "备注：{note}",
    "output of the submission (end):": "提交打印的内容（末尾）：",
    "{students}, {points} points.": "{students}，满分 {points}。",
    "{students}, {n} without a grade, {points} points.": (
        "{students}，其中 {n} 个没有成绩，满分 {points}。"
    ),
    "1 student": "1 个学生",
    "{n} students": "{n} 个学生",
    "sum": "合计",
    "late": "迟交",
    "taken off": "扣分",
    "grade": "成绩",
    "notes": "备注",
    "{n:.1f} d": "{n:.1f} 天",
    "{students}: open {page}": "{students}：请打开 {page}",
    "1 submission has the state 'error'; run `grader run` again.": (
        "1 份提交的状态是“评分出错”；请再运行一次 `grader run`。"
    ),
    "{n} submissions have the state 'error'; run `grader run` again.": (
        "{n} 份提交的状态是“评分出错”；请再运行一次 `grader run`。"
    ),
    "the result is gone": "结果不见了",
    # export/gradescope.py, nbgrader
    "hidden: {title}": "隐藏：{title}",
    " (hidden test)": "（隐藏测试）",
    "graded with trusted versions of the other parts; with your own: {message}": (
        "其他部分换成了可信版本来评分；用你自己的：{message}"
    ),
    "Part {part} {title}: public tests {n:.4g} of {all:.4g}": (
        "第 {part} 部分 {title}：公开测试 {n:.4g} / {all:.4g}"
    ),
    # Notebooks
    "Part {part}: {title}": "第 {part} 部分：{title}",
    "1 point": "1 分",
    "{n:g} points": "{n:g} 分",
    "Hidden test, run when your work is graded": "隐藏测试，评分时才运行",
    "All parts together": "所有部分一起",
    # All pages
    "Attention and KV-cache decode": "注意力与 KV cache decode",
    "Light colours": "浅色",
    "Dark colours": "深色",
    "{n:.1f} h": "{n:.1f} 小时",
    "{n:.1f} min": "{n:.1f} 分钟",
    "{n:.0f} s": "{n:.0f} 秒",
    "{n:.1f} s": "{n:.1f} 秒",
    "{day} {month} {year}, {time} UTC": "{year} 年 {month} 月 {day} 日 {time} UTC",
    # The student's page
    "{student}: attention and KV-cache decode": "{student}：注意力与 KV cache decode",
    "Attention and KV-cache decode · homework feedback": "注意力与 KV cache decode · 作业反馈",
    "<strong>This submission has no grade yet.</strong> The grader failed on it. That is not your "
    "fault and not a zero: it will be graded again.": (
        "<strong>这份提交还没有成绩。</strong>评分程序在它上面出了错。这不是你的错，也不是零分："
        "会重新评分。"
    ),
    "<strong>This submission has no grade yet.</strong> Your instructor knows, and a new page will "
    "follow.": "<strong>这份提交还没有成绩。</strong>老师已经知道，之后会发一份新的页面。",
    "of {most} points": "/ {most} 分",
    "Points of the tests": "测试得分",
    "Below the minimum of a part": "有部分未达最低要求",
    "Late": "迟交",
    "Score": "得分",
    "Nothing was found that could be graded.": "没有找到可以评分的内容。",
    "<strong>Some tests ran out of time.</strong> They count as not passed; the others were "
    "graded.": ("<strong>有些测试超时了。</strong>它们算没有通过；其余的照常评分。"),
    "Points by part": "各部分得分",
    "Points of each part": "各部分的得分",
    "Part": "部分",
    "Points": "得分",
    "below the minimum": "未达最低要求",
    "with your own code": "用你自己的代码",
    "with trusted versions of the other parts": "其他部分用可信版本",
    "Every test passed.": "所有测试都通过了。",
    "Where points were lost": "失分的地方",
    "A hint": "提示",
    "A second hint": "第二个提示",
    "A third hint": "第三个提示",
    "Another hint": "再一个提示",
    "Known bug <code>{name}</code>": "已知 bug <code>{name}</code>",
    ", see {places}": "，见 {places}",
    "Also wrong: {cases}": "同样出错的还有：{cases}",
    "Run it alone: <code>{command}</code>": "单独运行：<code>{command}</code>",
    "{n} more, to look at after these:": "还有 {n} 个，修完上面的再看：",
    "Wrong on hidden cases only:": "只在隐藏例子上出错：",
    "What a real model writes with your decode": "真实模型用你的 decode 写出什么",
    "SmolLM2-135M, a trained Llama, on your <code>prefill</code> and <code>decode_step</code> "
    "agrees "
    "with the reference at every step that was compared. Taking the likeliest token each time, it "
    "writes:": (
        "SmolLM2-135M 是一个训练好的 Llama。用你的 <code>prefill</code> 和 "
        "<code>decode_step</code>，比较过的每一步都与参照一致。每次取最可能的 token，它写出："
    ),
    "SmolLM2-135M, a trained Llama, takes the likeliest token each time, from the same "
    "beginning.": ("SmolLM2-135M 是一个训练好的 Llama。从同样的开头出发，每次取最可能的 token。"),
    "No error is raised on either side; what differs is marked.": (
        "两边都不报错；不同的地方做了标记。"
    ),
    "With your decode": "用你的 decode",
    "No text: your decode stopped, or took too long.": "没有文字：你的 decode 中断了，或者太慢。",
    "With a right decode": "用正确的 decode",
    "Points given with trusted parts": "换上可信版本之后给的分",
    "These tests failed with your own code and pass when all parts but the one under test are "
    "replaced by trusted versions. An early mistake should not cost the points of later work, so "
    "they count in full.": (
        "这些测试用你自己的代码没有通过；把被测部分之外的部分都换成可信版本，就通过了。"
        "前面的一个错误不该让后面的工作也失分，所以照满分计。"
    ),
    "(1 point)": "（1 分）",
    "({n} points)": "（{n} 分）",
    "About your files": "关于你交的文件",
    "All tests": "全部测试",
    "Tests passed on public cases and on hidden ones, which are of the same kind with other "
    "numbers.": ("在公开例子和隐藏例子上通过的测试；隐藏例子是同一类，只是换了数字。"),
    "Tests passed on public cases. Points of hidden cases are in the sums above and not in this "
    "list.": "在公开例子上通过的测试。隐藏例子的分数算在上面的合计里，不列在这里。",
    "Test": "测试",
    "Graded {moment}, test suite {version}. This page is complete in itself and loads nothing.": (
        "评分于 {moment}，测试版本 {version}。本页自成一体，不从别处加载任何东西。"
    ),
    # Drawings
    "Largest error of each decode step, on a logarithmic scale. {summary}": (
        "每一步 decode 的最大误差，对数坐标。{summary}"
    ),
    "decode step (0 is the prefill)": "decode 的步（0 是 prefill）",
    "step {n}: error {error:.2g}": "第 {n} 步：误差 {error:.2g}",
    "All {n} steps are within the tolerance.": "{n} 步都在容差之内。",
    "Step 0 is within the tolerance {limit}; ": "第 0 步在容差 {limit} 之内；",
    "Steps 0 to {n} are within the tolerance {limit}; ": "第 0 到第 {n} 步在容差 {limit} 之内；",
    "step {n} is the first that is wrong, with an error of {error:.2g}; the largest error is "
    "{worst:.2g}.": "第 {n} 步最先出错，误差 {error:.2g}；最大误差 {worst:.2g}。",
    "median {value}": "中位数 {value}",
    "points": "分",
    "seconds": "秒",
    "{low:.3g} to {high:.3g}": "{low:.3g} 到 {high:.3g}",
    "{bin} {unit}: {n}": "{bin} {unit}：{n}",
    "{n} values from {low:.4g} to {high:.4g} {unit}; half of them are below {middle:.4g}. "
    "{bars}.": ("{n} 个值，从 {low:.4g} 到 {high:.4g} {unit}；一半低于 {middle:.4g}。{bars}。"),
    # The class page
    "Class report: attention and KV-cache decode": "班级报告：注意力与 KV cache decode",
    "Class report": "班级报告",
    "To the students": "跳到学生名单",
    "On this page": "本页内容",
    "Scores": "成绩",
    "Known bugs": "已知 bug",
    "Hardest tests": "最难的测试",
    "Policy": "评分规则",
    "Heat map": "热图",
    "Students": "学生",
    "1 submission has no grade: the grader failed": "1 份提交没有成绩：评分程序出错",
    "{n} submissions have no grade: the grader failed": "{n} 份提交没有成绩：评分程序出错",
    "This is the harness's fault and not a zero. Run the same <code>grader run</code> again: it "
    "retries only these.": (
        "这是评分程序的错，不是零分。再运行一次同样的 <code>grader run</code>：只会重评这几份。"
    ),
    "To look at": "请看一看",
    "submission": "份提交",
    "submissions": "份提交",
    "median of {most} points": "中位数（满分 {most}）",
    "with full marks": "满分",
    "with a known bug": "有已知 bug",
    "ran out of time": "超时",
    "with nothing to grade": "无可评内容",
    "How many students have how many points.": "各分数段有多少学生。",
    "No submission has a grade.": "没有一份提交有成绩。",
    "Grading times": "评分用时",
    "How many submissions took how long.": "各用时段有多少份提交。",
    "median": "中位数",
    "19 of 20 within": "20 份中有 19 份不超过",
    "longest": "最长",
    "all together": "合计",
    "Slowest:": "最慢：",
    "Most common known bugs": "最常见的已知 bug",
    "Whose code computes the same as which bug.": "谁的代码算出来的和哪个 bug 一样。",
    "Open one to see who; <em>show</em> filters the students below.": (
        "点开可以看到是谁；点“筛选”，下面只列出这些学生。"
    ),
    "Bug": "bug 名称",
    "part {n}": "第 {n} 部分",
    "who": "是谁",
    ": who has {bug}": "：谁有 {bug}",
    "show": "筛选",
    "those with {bug}": "有 {bug} 的学生",
    "{n} more": "还有 {n} 个",
    ": {n}": "：{n}",
    "No submission equals a known bug.": "没有一份提交与已知 bug 相同。",
    "Passed by the fewest of the {n} who handed in.": "在 {n} 个交了作业的学生里，通过的人最少。",
    "<em>Sort</em> puts who failed first.": "点“排序”，没有通过的排在最前。",
    "Passed": "通过率",
    "hidden only": "只有隐藏例子",
    "public {public:.0f} %, hidden {hidden:.0f} %": "公开 {public:.0f} %，隐藏 {hidden:.0f} %",
    "sort": "排序",
    "by {test}": "按 {test}",
    "Every test was passed by everybody who handed in.": "交了作业的学生通过了全部测试。",
    "part {n}: {points}": "第 {n} 部分：{points}",
    "as its tests": "同测试",
    "Each part counts the points of its tests.": "每一部分按它的测试的分数计。",
    "Another policy needs no new grading: <code>grader report --policy FILE</code>.": (
        "换一种规则不必重新评分：<code>grader report --policy FILE</code>。"
    ),
    "Attempts": "多次提交",
    "Of several attempts of one student, the best counts.": "同一个学生交了几次，取最好的一次。",
    "Of several attempts of one student, the last counts.": "同一个学生交了几次，取最后一次。",
    "Lateness": "迟交",
    "There is no due date: nothing is late.": "没有截止时间：不算迟交。",
    "Due": "截止时间",
    "{moment} UTC.": "{moment} UTC。",
    "Grace": "宽限",
    "Up to {time} are not late.": "{time}之内不算迟交。",
    "{percent:g} % of {of} for each day begun, at most {cap:g} %.": (
        "每满或不满一天扣{of}的 {percent:g} %，最多扣 {cap:g} %。"
    ),
    "Last date": "最后期限",
    "From {moment} UTC on, 0.": "{moment} UTC 之后为 0 分。",
    "Extensions": "延期",
    "1 student has one.": "1 个学生有延期。",
    "{n} students have one.": "{n} 个学生有延期。",
    "Minimum": "最低要求",
    "part {part}: {percent:g} %": "第 {part} 部分：{percent:g} %",
    "{needed}; else the total counts at most {cap:g} %.": (
        "{needed}；否则总分最多计满分的 {cap:g} %。"
    ),
    "{needed}; else a note says so.": "{needed}；否则加一条备注。",
    "Hidden tests": "隐藏测试",
    "Students see title, points and state of hidden tests, never a message.": (
        "学生看得到隐藏测试的标题、分数和状态，看不到信息。"
    ),
    "Students see nothing of hidden tests; sums contain their points.": (
        "学生看不到隐藏测试；合计里包含它们的分数。"
    ),
    "Rounding": "取整",
    "{n} digits after the point, halves up.": "保留 {n} 位小数，四舍五入。",
    "Students and tests": "学生与测试",
    "Sorting, filtering and the heat map need JavaScript. The table below has every student's "
    "points "
    "by part.": "排序、筛选和热图需要 JavaScript。下面的表有每个学生各部分的得分。",
    "Filter and sort the heat map and the table": "筛选和排序热图与表格",
    "Find": "查找",
    "name or remark": "名字或备注",
    "State": "状态",
    "all": "全部",
    "Lost points in": "失分的部分",
    "any part or none": "不限",
    "Known bug": "已知 bug",
    "any or none": "不限",
    "Sort by": "排序依据",
    "name": "名字",
    "score": "得分",
    "points of part {n}": "第 {n} 部分得分",
    "test": "测试",
    "Clear": "清除",
    "heat map": "热图",
    "Heat map of students and tests": "学生与测试的热图",
    "Legend": "图例",
    "passed with trusted other parts": "其他部分换成可信版本后通过",
    "waiting for an earlier part": "在等前面的部分",
    "column of a hidden case": "隐藏例子的列",
    "Point at a cell, or focus the map and use the arrow keys, to read it. A click on a column's "
    "head, or S, sorts by that test; Enter opens the student's page. The table below says the same "
    "by part.": (
        "把鼠标移到格子上，或选中热图后用方向键，就能读到内容。点列的顶端，或按 S，按那个测试排序；"
        "按 Enter 打开学生的页面。下面的表按部分给出同样的内容。"
    ),
    "The heat map is on the screen only.": "热图只在屏幕上显示。",
    "Points by part of 1 submission.": "1 份提交各部分的得分。",
    "Points by part of {n} submissions.": "{n} 份提交各部分的得分。",
    "Those without a grade come first.": "没有成绩的排在最前。",
    "A name opens the student's page.": "点名字打开学生的页面。",
    "Student": "学生",
    "Known bugs and remarks": "已知 bug 与备注",
    "Last graded {moment}.": "最近一次评分：{moment}。",
    "Test suite {version}.": "测试版本 {version}。",
    "Sandbox: {tiers}.": "沙箱：{tiers}。",
    "This page loads nothing from elsewhere.": "本页不从别处加载任何东西。",
    "{name} ({n} results)": "{name}（{n} 份结果）",
    "passed with trusted versions of the other parts": "其他部分换成可信版本后通过",
    "no result": "没有结果",
    "{section} {title} ({kind})": "{section} {title}（{kind}）",
    "test {section}": "测试 {section}",
    "test (choose in the map)": "测试（在图里选）",
    "Descending ↓": "降序 ↓",
    "Ascending ↑": "升序 ↑",
    "{n} of {all} students": "{n} / {all} 个学生",
    ", by {test}": "，按 {test}",
    "Heat map of {n} students and {tests} tests": "{n} 个学生、{tests} 个测试的热图",
    "no grade: the grader failed": "没有成绩：评分程序出错",
    "no grade, the grader failed": "没有成绩，评分程序出错",
    ", {n} of {all} points": "，{n} / {all} 分",
    # Shared code
    "comparing": "比较中",
    "{first} and {second}": "{first} 与 {second}",
    "<bdi>{first}</bdi> and <bdi>{second}</bdi>": "<bdi>{first}</bdi> 与 <bdi>{second}</bdi>",
    "{n} submissions compared, a place to look: open {page}": (
        "比较了 {n} 份提交，该看哪里：请打开 {page}"
    ),
    "{student}: not compared. {reason}": "{student}：没有比较。{reason}",
    "{student}: not compared. Its code takes too long to read.": (
        "{student}：没有比较。代码读起来太慢。"
    ),
    "{student}: only the first {n:,} characters.": "{student}：只比较了最前面的 {n:,} 个字符。",
    "Where to look for shared code": "相同代码该看哪里",
    "{n} submissions, {pairs} pairs compared": "{n} 份提交，比较了 {pairs} 对",
    "<strong>This page says where to look, not who copied.</strong> A homework has few ways to be "
    "right, friends may have learned from the same book, and two people who worked together as "
    "your "
    "rules allow look the same as two who did not. Read both sides before you speak to anyone.": (
        "<strong>这一页说的是该看哪里，不是谁抄了谁。</strong>一份作业写对的方式没有几种；"
        "朋友可能读了同一本书；按你的规定一起做作业的两个人，看上去和没有一起做的一样。"
        "找任何人谈话之前，请先把两边的代码读一遍。"
    ),
    "The {n} most similar pairs. The similarity is the weight of the code that both have over the "
    "weight "
    "of all that the shorter one has; code that many have written weighs little. What everybody "
    "was "
    "given counts nothing.": (
        "最相似的 {n} 对。相似度是两人共有的代码的权重，除以较短那份全部代码的权重；"
        "很多人都写了的代码权重很小，发给大家的代码不算。"
    ),
    "Rank": "名次",
    "Similarity": "相似度",
    "Pair": "两人",
    "Shared runs": "共有的片段",
    "In no third submission": "别人都没有的",
    "No two submissions share code beyond what everybody was given.": (
        "除了发给大家的，没有两份提交有相同的代码。"
    ),
    "Not compared, or only in part": "没有比较，或只比较了一部分",
    "How it is measured": "怎样度量",
    "Names, strings, comments and spacing are taken out; what is left is cut into runs of {gram} "
    "tokens, of which winnowing keeps some (Schleimer, Wilkerson and Aiken, 2003). A run that n "
    "of N "
    "students have weighs log((N + 1) / n). Renaming and reformatting change nothing; rewriting "
    "each "
    "line does.": (
        "先去掉名字、字符串、注释和空白；剩下的切成 {gram} 个记号一段，由 winnowing 算法保留其中"
        "一些"
        "（Schleimer、Wilkerson、Aiken，2003）。N 个学生里有 n 个人有的片段，权重是 "
        "log((N + 1) / n)。改名、改排版没有影响；逐行重写才有。"
    ),
    "Contains students’ names and work: for the course staff only.": (
        "含有学生的姓名和作业：只供教学人员使用。"
    ),
    "{first} and {second}: shared code": "{first} 与 {second}：相同的代码",
    "All pairs": "全部",
    "rank {n}": "第 {n} 名",
    "Similarity {percent} %: {shared} shared runs of {gram} tokens, {only_these} of them in no "
    "third "
    "submission. A place to look, not a verdict.": (
        "相似度 {percent} %：{shared} 个共有的片段，每段 {gram} 个记号，其中 {only_these} 个别人"
        "都没有。"
        "这是该看的地方，不是结论。"
    ),
    "only these two have it": "只有这两人有",
    "others have it, too": "别人也有",
    "unmarked: given to all, or this student’s own": "没有标记：发给大家的，或这个学生自己的",
    # The timing test
    "starting": "启动中",
    "repetition {n}, context {context}": "第 {n} 遍，上下文 {context}",
    "repetition {n}, generation": "第 {n} 遍，生成",
    "{student}: {impl} on {device}, {dtype}, model {model}, {threads}, {n} repetitions; sandbox: "
    "{tier}": (
        "{student}：{impl}，{device}，{dtype}，模型 {model}，{threads}，重复 {n} 遍；沙箱：{tier}"
    ),
    "1 thread": "1 个线程",
    "{n} threads": "{n} 个线程",
    "Not timed: {why}": "没有计时：{why}",
    "Points: 0 of {most:g}.": "得分：0 / {most:g}。",
    "Points: {points:g} of {most:g} (ratio to {against} {ratio:.2f}).": (
        "得分：{points:g} / {most:g}（与{against}之比 {ratio:.2f}）。"
    ),
    "ms per token, medians; ratios of what was measured side by side": (
        "每个 token 的毫秒数，中位数；比值取自并排测得的时间"
    ),
    "context": "上下文",
    "step": "一步",
    "min .. max": "最小 .. 最大",
    "solution": "参考实现",
    "naive": "重算",
    "bound": "下界",
    "naive recompute": "朴素重算",
    "bound: plain matrix-vector products": "下界：只做矩阵乘向量",
    "context (tokens)": "上下文（token 数）",
    "ms per token": "每个 token 的毫秒数",
    "Bound: plain matrix-vector products over the bytes a step must read, {low:.3g} to "
    "{high:.3g} MB "
    "at {speed:.3g} GB/s. Naive: the whole context again for each token.": (
        "下界：对一步必须读的字节只做矩阵乘向量，{low:.3g} 到 {high:.3g} MB，{speed:.3g} GB/s。"
        "重算：每个 token 都把整个上下文重跑一遍。"
    ),
    "Growth: {growth}. Fit of a step: {fixed:.3g} ms {each:+.3g} us per position; slope of the "
    "logarithms {slope:.2f}.": (
        "增长：{growth}。一步的拟合：{fixed:.3g} ms，每个位置 {each:+.3g} us；对数斜率 "
        "{slope:.2f}。"
    ),
    "The recompute hardly grew: whether the cache is used cannot be told here.": (
        "重算几乎没有变慢：在这里看不出用没用 cache。"
    ),
    "A step's time grows like a recompute's: the cache is not used. No points.": (
        "一步的时间像重算一样增长：没有用 cache。不得分。"
    ),
    "Generation of {n} tokens behind {prompt}: {each:.3g} ms per token, {ratio:.2f} times the "
    "solution's.": (
        "在 {prompt} 个 token 之后生成 {n} 个：每个 token {each:.3g} ms，是参考实现的 "
        "{ratio:.2f} 倍。"
    ),
    "With a model this tiny, that says that all works, and not how fast it is.": (
        "模型这么小，只能说明一切正常，说明不了有多快。"
    ),
    "{file} is not drawn: there are no times.": "没有画 {file}：没有时间数据。",
    "at context {n}": "上下文 {n}",
    "while warming up": "预热时",
    "generate while warming up": "预热时的 generate",
    "{what}: the output": "{what} 的输出",
    "{what}: the output of step {n}": "{what} 第 {n} 步的输出",
    "{what}: not an answer of the harness's adapter": "{what}：不是测试框架的适配器给出的回答",
    "an array the pipe does not carry": "管道不能传的数组",
    "{what} is {found}, expected {expected}": "{what}是 {found}，应为 {expected}",
    "integers": "整数",
    "a logit is NaN or infinite": "有 logit 是 NaN 或无穷大",
    "{what}: {name} are wrong by {error:.1e} (rms), accepted is {most:.1e}": (
        "{what}：{name} 的误差是 {error:.1e}（均方根），允许 {most:.1e}"
    ),
    "{what}: the logits are wrong by {error:.1e} (rms of all steps), accepted is {most:.1e}": (
        "{what}：logits 的误差是 {error:.1e}（所有步的均方根），允许 {most:.1e}"
    ),
    "; an error this small in every step comes of a lower precision": (
        "；每一步的误差都这么小，是精度降低造成的"
    ),
    "{what}: a token is outside the vocabulary 0..{last}": "{what}：有 token 在词表 0..{last} 之外",
    "{what}: token {place} (row {row}) is {token}, whose logit is {short:.1e} below the largest": (
        "{what}：第 {place} 个 token（第 {row} 行）是 {token}，它的 logit 比最大的小 {short:.1e}"
    ),
}
