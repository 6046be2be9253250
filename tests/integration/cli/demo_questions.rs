//! Questions of a person at work to the demo, and the first item by relevance.

use super::demo::Running;

/// Module, keyword, and the beginning of the first item's id or title.
const QUESTIONS: [(&str, &str, &str); 74] = [
    ("all", "holiday", "A-1112"),
    ("all", "how do I ask for holiday", "A-1112"),
    ("all", "annual leave", "A-1112"),
    ("all", "请假", "A-1113"),
    ("all", "年假怎么请", "A-1113"),
    ("all", "病假", "A-1113"),
    ("all", "expenses", "A-1115"),
    ("all", "claim expenses", "A-1115"),
    ("all", "报销", "A-1116"),
    ("all", "怎么报销", "A-1116"),
    ("all", "onboarding", "A-1114"),
    ("all", "入职", "A-1007"),
    ("all", "电动叉车租赁合同", "C-2025"),
    ("all", "C-2042", "C-2042"),
    ("all", "office lease", "C-2004"),
    ("all", "虹口办公室租赁", "C-2003"),
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
    ("all", "parental leave", "A-1009"),
    ("all", "password rules", "A-1006"),
    ("all", "how is the annual budget made", "A-1008"),
    ("all", "annual budget kick-off", "A-1074"),
    ("all", "budget glossary", "F-3111"),
    ("all", "how do we review code", "A-1011"),
    ("all", "choosing a carrier", "A-1012"),
    ("all", "data protection clauses carrier", "A-1045"),
    ("all", "travel policy", "F-3030"),
    ("all", "book buisness travel", "A-1063"),
    ("all", "visa invitation letter", "A-1083"),
    ("all", "邀请函", "A-1083"),
    ("all", "合同签署流程", "A-1013"),
    ("all", "发票报销退单原因", "A-1020"),
    ("all", "紧急付款", "F-3059"),
    ("all", "一线城市酒店上限", "A-1095"),
    ("all", "新员工入职", "A-1007"),
    ("all", "how does an interview day run", "A-1029"),
    ("all", "refer a friend bonus", "A-1064"),
    ("all", "engineering ladder", "A-1034"),
    ("all", "cost centre report", "A-1036"),
    ("all", "duplicate invoices", "A-1038"),
    ("all", "why was the booking tool down", "A-1016"),
    ("all", "灯塔第二批切换什么时候", "A-1093"),
    ("all", "叉车限速", "A-1010"),
    ("all", "消防演练", "F-3044"),
    ("all", "钓鱼邮件", "A-1076"),
    ("all", "食堂怎么定菜单", "A-1015"),
    ("all", "苏州为什么建新仓", "A-1005"),
    ("all", "A15 bridge closed", "F-3118"),
    ("all", "quiet rooms", "A-1071"),
    ("all", "chachexiansu", "A-1010"),
    ("all", "dyyjyl", "A-1076"),
    ("all", "when was the incident review of the booking tool", "A-1016"),
    ("article", "author:majun 货架", "A-1023"),
    ("people", "zhouhl", "Zhou Hailan"),
    ("people", "zhl", "Zhou Hailan"),
    ("people", "周海岚", "Zhou Hailan"),
    ("file", "pallet map", "Pallet map"),
    ("todo", "C-2050", "审批合同：兰溪叉车续期"),
    ("todo", "silk corridor", "Approve carrier contract: Silk Corridor"),
];

#[tokio::test]
async fn questions_of_a_person_at_work_have_their_answer_first() {
    let demo = Running::start().await;
    let mut failures = Vec::new();
    for (module, keyword, expected) in QUESTIONS {
        let answer = demo.search(module, keyword).await;
        let first = &answer["data"][0];
        let is_expected = |field: &str| first[field].as_str().is_some_and(|text| text.starts_with(expected));
        if !["id", "title"].into_iter().any(is_expected) {
            failures.push(format!("{keyword}: {expected}, not {} {}", first["id"], first["title"]));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
