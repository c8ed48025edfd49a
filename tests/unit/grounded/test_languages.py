import pytest

from ragcore.grounded.languages import language_of, nothing_found


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What is the capital of France?", "en"),
        ("When was the roof repaired?", "en"),
        ("Tell me about Stripe.", "en"),
        ("What is π?", "en"),
        ("Quelle est la capitale de la France ?", "fr"),
        ("Où est la clé ?", "fr"),
        ("Combien de fois faut-il arroser les tomates ?", "fr"),
        ("Wie heißt die Hauptstadt von Frankreich?", "de"),
        ("Wann wurde das Dach repariert?", "de"),
        ("¿Cuál es la capital de Francia?", "es"),
        ("¿Dónde está la llave de la casa?", "es"),
        ("Qual è la capitale della Francia?", "it"),
        ("Dove sono le chiavi della casa?", "it"),
        ("Qual é a capital da França?", "pt"),
        ("Onde estão as chaves da minha casa?", "pt"),
        ("Wat is de hoofdstad van Frankrijk?", "nl"),
        ("Gdzie jest klucz do mojego domu?", "pl"),
        ("Какая столица Франции?", "ru"),
        ("法国的首都是哪里？", "zh"),
        ("フランスの首都はどこですか", "ja"),
        ("프랑스의 수도는 어디입니까?", "ko"),
        ("ما هي عاصمة فرنسا؟", "ar"),
        ("Xyzzy?", None),
        ("42", None),
        ("", None),
    ],
)
def test_the_language_of_a_question(question: str, language: str | None) -> None:
    assert language_of(question) == language


def test_an_earlier_question_says_it_where_the_last_one_does_not() -> None:
    assert nothing_found(["Xyzzy?", "Où est la clé ?", "Where is it?"]).startswith("Je n’ai rien")
    assert nothing_found(["42"]).startswith("I found nothing")
