import pytest
from memoryapp.longterm.models import Kind
@pytest.mark.django_db
def test_kinds():
    assert Kind.objects.count() == 10
