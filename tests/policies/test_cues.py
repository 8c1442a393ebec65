import pytest

from memoryapp.policies.cues import asks_to_forget


@pytest.mark.parametrize(
    "text",
    [
        "Forget that I love olives.",
        "please forget my address",
        "Can you forget what I told you about Bruno?",
        "Forget everything you know about me.",
        "Delete that from your memory.",
        "Delete all memories",
        "Actually, forget I said that.",
        "I moved to Porto. Forget that I live in Lisbon.",
        "Don't remember that I was ill.",
        "Vergiss bitte, dass ich Oliven liebe.",
        "Lösche das aus deinem Gedächtnis.",
        "Por favor, olvida lo que te dije.",
        "S'il te plaît, oublie mon adresse.",
        "Dimentica che amo le olive.",
        "Esquece-te de que gosto de azeitonas.",
        "Vergeet dat ik van olijven hou.",
        "Glöm att jag älskar oliver.",
        "Glem at jeg elsker oliven.",
        "Unohda, että rakastan oliiveja.",
        "Zapomnij, że kocham oliwki.",
        "Пожалуйста, забудьте, что я живу в Москве.",
        "Забудь, що я люблю оливки.",
        "Zeytin sevdiğimi unut.",
        "请忘记我喜欢橄榄。",
        "オリーブが好きなことを忘れてください。",
        "올리브를 좋아한다는 것을 잊어줘.",
    ],
)
def test_an_order_to_forget(text):
    assert asks_to_forget(text)


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget that I have a dentist appointment on Monday.",
        "Never forget: I am allergic to peanuts.",
        "I always forget my keys.",
        "Did you forget that I love olives?",
        "Forget it, I'll take the train to Porto on Friday.",
        "Forget the budget, we can spend 5000 on the trip.",
        "I deleted the photos from the memory card.",
        "Clear skies today, the best in memory.",
        "Remember that I love olives.",
        "Vergiss nicht, dass ich am Montag zum Arzt muss.",
        "No olvides que soy alérgico.",
        "N'oublie pas que je suis allergique.",
        "Non dimenticare che sono allergico.",
        "Não te esqueças de que sou alérgico.",
        "Glöm inte att jag är allergisk.",
        "Не забудь, что у меня аллергия.",
        "Zeytin sevdiğimi unutma.",
        "我忘了我的密码。",
        "别忘了我对花生过敏。",
        "パスワードを忘れてしまった。",
        "알레르기가 있다는 것을 잊지 마.",
        "비밀번호를 잊어버렸어.",
    ],
)
def test_whoever_merely_speaks_of_forgetting_gives_no_order(text):
    assert not asks_to_forget(text)
