use std::collections::HashSet;
use std::sync::LazyLock;

use super::stem;

const STOP_WORDS_TEXT: &str = "a an and are as at be but by for if in into is it no not of on or such that the their then there \
     these they this to was will with what which who whom whose how when where why do does did have has had can could would \
     should may must am been being were i we you he she its our your my me us from about than so also any some please \
     的 了 着 是 在 和 与 及 或 吗 呢 吧 啊 么 之 其 于 对 为 被 把 让 从 向 也 都 就 而 但 等 这 那 这个 那个 这些 那些 什么 哪些 哪个 哪里 哪儿 \
     哪 谁 如何 怎么 怎样 怎么样 为什么 为何 多少 几 请问 是否 有没有 是不是 能否 可以 关于 以及 并且 还是 我 你 他 她 它 我们 你们 他们";

static STOP_WORDS: LazyLock<HashSet<String>> =
    LazyLock::new(|| STOP_WORDS_TEXT.split_whitespace().map(|word| stem(word).into_owned()).collect());

pub fn is_stop_word(stem: &str) -> bool {
    STOP_WORDS.contains(stem)
}

/// Whether a word such as `IT` is an acronym, by its capitals alone.
pub(crate) fn is_acronym(written: &str) -> bool {
    written.len() > 1
        && written.bytes().all(|byte| byte.is_ascii_uppercase())
        && is_stop_word(&stem(&written.to_ascii_lowercase()))
}
