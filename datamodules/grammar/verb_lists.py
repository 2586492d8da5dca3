"""The hand-written lexicon, second part: verbs, prepositions and adverbs.

The tables read as those of ``noun_lists.py``.
"""

# English past after the slash ("-": none; it is spelt like the present). "~" marks a state, whose
# past is the French imperfect, not the passé composé; "+" a French verb with the auxiliary être.
# "any" stands for persons and animals as subjects and for all classes as objects.
TRANSITIVE = """
see/saw | voir | any | any
love | aimer~ | person | person animal food drink text place
eat/ate | manger | any | food
look at | regarder | any | any
buy/bought | acheter | person | food drink text thing clothes furniture vehicle
look for | chercher | any | any
find/found | trouver | any | any
read/- | lire | person | text
know/knew | connaître~ | person | person place
drink/drank | boire | person | drink
hear/heard | entendre | any | person animal
wait for | attendre | person | person
sell/sold | vendre | person | food drink text thing clothes furniture vehicle
help | aider | person | person
follow | suivre | any | person animal
write/wrote | écrire | person | text
lose/lost | perdre | person | thing clothes text
choose/chose | choisir | person | food text thing clothes furniture
call | appeler | person | person animal
build/built | construire | person | furniture place
clean | nettoyer | person | furniture vehicle place
protect | protéger | any | person animal
"""

INTRANSITIVE = """
sleep/slept | dormir | any
work | travailler | person
sing/sang | chanter | person
run/ran | courir | any
play | jouer | any
cry | pleurer | person
arrive | arriver+ | any
laugh | rire | person
fall/fell | tomber+ | any
"""

# Verb with a preposition before its object; the object is anything of the classes given.
PREPOSITIONAL = """
speak/spoke | parler | to/à | person | person
go/went | aller+ | to/à | any | place
think/thought | penser | of/à | person | person place animal
need | avoir besoin~ | /de | any | person
need | avoir besoin~ | /de | person | thing clothes vehicle food
come/came | venir+ | from/de | any | place
play | jouer | with/avec | any | person animal
work | travailler | with/avec | person | person
"""

DITRANSITIVE = """
give/gave | donner | text thing clothes food drink
show/showed | montrer | text thing clothes vehicle animal
bring/brought | apporter | food drink text thing clothes
send/sent | envoyer | text thing clothes
"""

REPORTING = """
think/thought | penser
know/knew | savoir
say/said | dire
believe | croire
"""

PLACES = """
in | dans | place
near | près de | place landmark
behind | derrière | place landmark furniture
next to | à côté de | landmark place furniture | 0-0 0-1 1-2
in front of | devant | place landmark
under | sous | furniture
on | sur | furniture
"""

COMPANY = """
without | sans | person
"""

HERE = """
here | ici
outside | dehors
over there | là-bas
"""

# Adverbs of time by tense; "habit" is the present with "often", "never" and their like.
TIMES = """
habit
nowadays | de nos jours
at night | la nuit | 0-0 1-1
in the evening | le soir | 0-0 1-0 2-1

present
today | aujourd'hui
every day | tous les jours | 0-0 0-1 1-2
now | maintenant
this morning | ce matin | 0-0 1-1
in the evening | le soir | 0-0 1-0 2-1

past
yesterday | hier
last week | la semaine dernière | 0-2 1-0 1-1
this morning | ce matin | 0-0 1-1
two days ago | il y a deux jours | 0-3 1-4 2-0 2-1 2-2

future
tomorrow | demain
next week | la semaine prochaine | 0-2 1-0 1-1
this evening | ce soir | 0-0 1-1
in two days | dans deux jours | 0-0 1-1 2-2
"""

FREQUENCIES = """
often | souvent
always | toujours
sometimes | parfois
"""

DEGREES = """
very | très
too | trop
"""
