// English and Chinese by key; `|` separates singular and plural.

export default {
    "common.retry": ["Try again", "重试"],
    "common.sign-in": ["Sign in", "登录"],
    "common.sign-out": ["Sign out", "退出登录"],
    "common.account": ["Sign-in and sessions", "登录与会话"],
    "common.enterprise": ["Enterprise code", "企业编码"],
    "common.offline": ["You are offline.", "当前处于离线状态。"],
    "common.failed": ["Something failed on the server.", "服务器出现故障。"],
    "common.not-reached": ["The server was not reached.", "无法连接到服务器。"],
    "sign-in.by": ["Sign in with", "登录方式："],
    "sign-in.refused": ["You were not signed in: this account may not, or it was cancelled.", "未能登录：该账号无权登录，或登录已取消。"],
    "sign-in.expired": ["Signing in took too long. Please try again.", "登录超时，请重试。"],
    "sign-in.busy": ["The server has too much to do. Please try again in a moment.", "服务器繁忙，请稍后重试。"],
    "sign-in.unknown": ["There is no such enterprise, or no such way to sign in.", "没有这个企业，或没有这种登录方式。"],
    "sign-in.failed": ["Signing in failed. Please try again.", "登录失败，请重试。"],
};
