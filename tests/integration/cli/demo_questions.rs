//! Questions of a person at work to the demo, and their answers by relevance.

use serde_json::Value;

use super::demo::Running;

/// Module (all if empty), keyword, and the beginning of the answer's id or title.
///
/// It is the first in its module, and among the five best of all.
const QUESTIONS: [(&str, &str, &str); 74] = [
    ("", "holiday", "A-1112"),
    ("", "how do I ask for holiday", "A-1112"),
    ("", "annual leave", "A-1112"),
    ("", "请假", "A-1113"),
    ("", "年假怎么请", "A-1113"),
    ("", "病假", "A-1113"),
    ("", "expenses", "A-1115"),
    ("", "claim expenses", "A-1115"),
    ("", "报销", "A-1116"),
    ("", "怎么报销", "A-1116"),
    ("", "onboarding", "A-1114"),
    ("", "入职", "A-1007"),
    ("", "电动叉车租赁合同", "C-2025"),
    ("", "C-2042", "C-2042"),
    ("", "office lease", "C-2004"),
    ("", "虹口办公室租赁", "C-2003"),
    ("people", "Lars", "Lars de Vries"),
    ("people", "财务经理", "Chen Mei"),
    ("people", "zhouhailan", "Zhou Hailan"),
    ("people", "wang.fang", "Wang Fang"),
    ("people", "novak", "Tomáš Novák"),
    ("department", "caiwubu", "Finance"),
    ("department", "rotterdam", "Rotterdam"),
    ("file", "onboarding", "Onboarding checklist"),
    ("file", "请假单", "Leave request form"),
    ("file", "umbrella", "Rotterdam receipts"),
    ("file", "喇叭", "Forklift checks"),
    ("todo", "年假", "审批年假"),
    ("todo", "receipts", "Approve 14 receipts"),
    ("done", "报销", "审批差旅报销"),
    ("favorite", "holiday", "Holiday"),
    ("group", "仓库", "Warehouse floor"),
    ("message", "forklift", "The forklift inspection plan"),
    ("", "parental leave", "A-1009"),
    ("", "password rules", "A-1006"),
    ("", "how is the annual budget made", "A-1008"),
    ("", "annual budget kick-off", "A-1074"),
    ("", "budget glossary", "F-3111"),
    ("", "how do we review code", "A-1011"),
    ("", "choosing a carrier", "A-1012"),
    ("", "data protection clauses carrier", "A-1045"),
    ("", "travel policy", "F-3030"),
    ("", "book buisness travel", "A-1063"),
    ("", "visa invitation letter", "A-1083"),
    ("", "邀请函", "A-1083"),
    ("", "合同签署流程", "A-1013"),
    ("", "发票报销退单原因", "A-1020"),
    ("", "紧急付款", "F-3059"),
    ("", "一线城市酒店上限", "A-1095"),
    ("", "新员工入职", "A-1007"),
    ("", "how does an interview day run", "A-1029"),
    ("", "refer a friend bonus", "A-1064"),
    ("", "engineering ladder", "A-1034"),
    ("", "cost centre report", "A-1036"),
    ("", "duplicate invoices", "A-1038"),
    ("", "why was the booking tool down", "A-1016"),
    ("", "灯塔第二批切换什么时候", "A-1093"),
    ("", "叉车限速", "A-1010"),
    ("", "消防演练", "F-3044"),
    ("", "钓鱼邮件", "A-1076"),
    ("", "食堂怎么定菜单", "A-1015"),
    ("", "苏州为什么建新仓", "A-1005"),
    ("", "A15 bridge closed", "F-3118"),
    ("", "quiet rooms", "A-1071"),
    ("", "chachexiansu", "A-1010"),
    ("", "dyyjyl", "A-1076"),
    ("", "when was the incident review of the booking tool", "A-1016"),
    ("article", "author:majun 货架", "A-1023"),
    ("people", "zhouhl", "Zhou Hailan"),
    ("people", "zhl", "Zhou Hailan"),
    ("people", "周海岚", "Zhou Hailan"),
    ("file", "pallet map", "Pallet map"),
    ("todo", "C-2050", "审批合同：兰溪叉车续期"),
    ("todo", "silk corridor", "Approve carrier contract: Silk Corridor"),
];

#[tokio::test]
async fn questions_of_a_person_at_work_are_answered_by_the_best_results() {
    let demo = Running::start().await;
    let mut failures = Vec::new();
    for (module, keyword, expected) in QUESTIONS {
        let (answer, most) = match module {
            "" => (demo.search_all(keyword).await, usize::MAX),
            module => (demo.search(module, keyword).await, 1),
        };
        let found: Vec<_> = answer["data"].as_array().unwrap().iter().take(most).collect();
        let is_expected = |text: &Value| text.as_str().is_some_and(|text| text.starts_with(expected));
        if !found.iter().any(|item| is_expected(&item["id"]) || is_expected(&item["title"])) {
            let titles: Vec<_> = found.iter().map(|item| &item["title"]).collect();
            failures.push(format!("{keyword}: {expected} is not among {titles:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
