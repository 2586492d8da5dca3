"""The hand-written lexicon, first part: nouns, names and adjectives.

Forms that the rules of ``english.py`` and ``french.py`` do not give stand after a slash. ``*``
marks a French word with an aspirated h. A translation of several words on both sides says which
word renders which (``0-1``: the first English word gives the second French one).
"""

NOUNS = """
person
friend | ami | m
teacher | professeur | m
child/children | enfant | m
woman/women | femme | f
man/men | homme | m
neighbour | voisin | m
girl | fille | f
doctor | médecin | m
mother | mère | f
boy | garçon | m
king | roi | m
student | étudiant | m
soldier | soldat | m
actress | actrice | f
police officer | policier | m
queen | reine | f
writer | écrivain | m
hero/heroes | *héros | m
sister | sœur | f
tennis player | joueur de tennis/joueurs de tennis | m | 0-1 0-2 1-0
lawyer | avocat | m

animal
cat | chat | m
dog | chien | m
horse | cheval/chevaux | m
bird | oiseau | m
cow | vache | f
mouse/mice | souris | f
wolf/wolves | loup | m
rabbit | lapin | m
owl | *hibou/*hiboux | m
elephant | éléphant | m
hedgehog | *hérisson | m

food
apple | pomme | f
bread/- | pain | m
cake | gâteau | m
potato/potatoes | pomme de terre/pommes de terre | f
egg | œuf | m
cheese | fromage | m
apple pie | tarte aux pommes/tartes aux pommes | f | 0-1 0-2 1-0
meat/- | viande | f
bean | *haricot | m

drink
water/- | eau | f
coffee/- | café | m
wine/- | vin | m
milk/- | lait | m

text
book | livre | m
letter | lettre | f
story | histoire | f
newspaper | journal/journaux | m
poem | poème | m
love letter | lettre d'amour/lettres d'amour | f | 0-1 1-0

thing
key | clé | f
bag | sac | m
box | boîte | f
flower | fleur | f
umbrella | parapluie | m
knife/knives | couteau | m
gift | cadeau | m
toothbrush | brosse à dents/brosses à dents | f
clock | horloge | f
axe | *hache | f
tool | outil | m

clothes
hat | chapeau | m
dress | robe | f
coat | manteau | m
shirt | chemise | f
shoe | chaussure | f
evening dress | robe du soir/robes du soir | f | 0-1 0-2 1-0

furniture
table | table | f
chair | chaise | f
bed | lit | m
desk | bureau | m

vehicle
car | voiture | f
boat | bateau | m
train | train | m
plane | avion | m

place
house | maison | f
garden | jardin | m
school | école | f
town | ville | f
church | église | f
village | village | m
train station | gare | f
forest | forêt | f
hotel | hôtel | m
market | marché | m
castle | château | m
hospital | hôpital/hôpitaux | m
swimming pool | piscine | f
hamlet | *hameau | m
factory | usine | f

landmark
tree | arbre | m
river | rivière | f
bridge | pont | m
wall | mur | m
"""

NAMES = """
Paul/- | Paul | m
Mary/- | Marie | f
Peter/- | Pierre | m
Anne/- | Anne | f
"""

# Place of the adjective: before or after the French noun. Third column: feminine, if irregular,
# and the masculine before a vowel. Last column: the classes of nouns that it goes with.
ADJECTIVES = """
before
young | jeune | person animal
new | nouveau/nouvelle/nouvel | text thing clothes furniture vehicle place
big | grand | person animal food thing clothes furniture vehicle place landmark
small | petit | person animal food thing clothes furniture vehicle place landmark
old | vieux/vieille/vieil | person animal text thing clothes furniture vehicle place landmark
beautiful | beau/belle/bel | animal person text thing clothes furniture vehicle place landmark
good | bon | food drink text person
pretty | joli | thing clothes furniture place text
bad | mauvais | text
huge | énorme | food animal furniture vehicle landmark place

after
black | noir | animal clothes thing furniture vehicle
happy | heureux | person animal
red | rouge | clothes thing vehicle furniture
white | blanc/blanche | clothes animal vehicle furniture
delicious | délicieux | food drink
famous | célèbre | person place text landmark
tired | fatigué | person animal
blue | bleu | clothes vehicle thing furniture
intelligent | intelligent | person animal
interesting | intéressant | text place
green | vert | vehicle clothes furniture thing
rich | riche | person
strange | étrange | text place landmark animal thing
cold | froid | drink food
sad | triste | person text
jealous | jaloux/jalouse | person
useful | utile | thing text vehicle
honest | honnête | person
brown | marron/marron | animal clothes furniture
Italian | italien | person food clothes
English | anglais | person text
"""

# Never after "very" or "too", nor after "as".
UNGRADED = "new huge delicious Italian English brown"
# Not after "be".
ATTRIBUTIVE = "new"
